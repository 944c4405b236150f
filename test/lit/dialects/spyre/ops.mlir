// RUN: spyre-opt %s | filecheck %s
// RUN: spyre-opt %s | spyre-opt | filecheck %s
// RUN: spyre-opt %s --print-op-generic | spyre-opt | filecheck %s

!sticks = tensor<64x128xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// CHECK-LABEL: @matmul
// CHECK:         spyre.matmul %{{.*}}, %{{.*}} {lhs_map = affine_map<(d0, d1, d2) -> (d0, d2)>, rhs_map = affine_map<(d0, d1, d2) -> (d1, d2)>, result_map = affine_map<(d0, d1, d2) -> (d0, d1)>} : tensor<64x128xf16>, tensor<32x128xf16> -> tensor<64x32xf32>
func.func @matmul(%a: tensor<64x128xf16>, %b: tensor<32x128xf16>) -> tensor<64x32xf32> {
  %0 = spyre.matmul %a, %b {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : tensor<64x128xf16>, tensor<32x128xf16> -> tensor<64x32xf32>
  func.return %0 : tensor<64x32xf32>
}

// A body of scalar functions; an operand is broadcast where its map says 0.

// CHECK-LABEL: @map
// CHECK:         spyre.map %{{.*}}, %{{.*}} {maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (0, d1)>]} : (tensor<4x100xf16>, tensor<1x100xf16>) -> tensor<4x100xf16> {
// CHECK-NEXT:    ^bb0(%[[A:.*]]: f16, %[[B:.*]]: f16):
// CHECK-NEXT:      %[[C:.*]] = spyre.constant 2.000000e+00 : f16 -> f16
// CHECK-NEXT:      %[[D:.*]] = spyre.fn "mul"(%[[A]], %[[C]]) : (f16, f16) -> f16
// CHECK-NEXT:      %[[E:.*]] = spyre.fn "add"(%[[D]], %[[B]]) : (f16, f16) -> f16
// CHECK-NEXT:      spyre.yield %[[E]] : f16
func.func @map(%x: tensor<4x100xf16>, %y: tensor<1x100xf16>) -> tensor<4x100xf16> {
  %0 = spyre.map %x, %y {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (0, j)>]}
    : (tensor<4x100xf16>, tensor<1x100xf16>) -> tensor<4x100xf16> {
  ^bb0(%a: f16, %b: f16):
    %c = spyre.constant 2.0 : f16 -> f16
    %d = spyre.fn "mul"(%a, %c) : (f16, f16) -> f16
    %e = spyre.fn "add"(%d, %b) : (f16, f16) -> f16
    spyre.yield %e : f16
  }
  func.return %0 : tensor<4x100xf16>
}

// CHECK-LABEL: @reduce
// CHECK:         spyre.reduce "max" %{{.*}} {dims = array<i64: 0, 1>} : tensor<4x100xf16> -> tensor<1x1xf16>
func.func @reduce(%x: tensor<4x100xf16>) -> tensor<1x1xf16> {
  %0 = spyre.reduce "max" %x {dims = array<i64: 0, 1>} : tensor<4x100xf16> -> tensor<1x1xf16>
  func.return %0 : tensor<1x1xf16>
}

// Concatenation: pieces share an iterator and have one of their own.

// CHECK-LABEL: @cat
// CHECK:         spyre.reindex %{{.*}}, %{{.*}} {sizes = array<i64: 4>, extra = [array<i64: 10>, array<i64: 20>], source_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], target_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, (d1 + 10))>]} : (tensor<4x10xf16>, tensor<4x20xf16>) -> tensor<4x30xf16>
func.func @cat(%a: tensor<4x10xf16>, %b: tensor<4x20xf16>) -> tensor<4x30xf16> {
  %0 = spyre.reindex %a, %b {sizes = array<i64: 4>, extra = [array<i64: 10>, array<i64: 20>],
    source_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    target_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j + 10)>]}
    : (tensor<4x10xf16>, tensor<4x20xf16>) -> tensor<4x30xf16>
  func.return %0 : tensor<4x30xf16>
}

// CHECK-LABEL: @gather
// CHECK:         spyre.gather %{{.*}}, %{{.*}} {axis = 0 : i64, source_map = affine_map<(d0, d1) -> (0, d1)>, index_map = affine_map<(d0, d1) -> (d0)>} : tensor<1000x384xf16>, tensor<32xi64> -> tensor<32x384xf16>
func.func @gather(%t: tensor<1000x384xf16>, %i: tensor<32xi64>) -> tensor<32x384xf16> {
  %0 = spyre.gather %t, %i {axis = 0 : i64, source_map = affine_map<(r, c) -> (0, c)>,
    index_map = affine_map<(r, c) -> (r)>}
    : tensor<1000x384xf16>, tensor<32xi64> -> tensor<32x384xf16>
  func.return %0 : tensor<32x384xf16>
}

// CHECK-LABEL: @made
// CHECK-NEXT:    spyre.full 0.000000e+00 : f16 -> tensor<4x100xf16>
// CHECK-NEXT:    spyre.iota {dim = 0 : i64, start = 0 : i64, step = 1 : i64} : tensor<100xi64>
func.func @made() {
  %0 = spyre.full 0.0 : f16 -> tensor<4x100xf16>
  %1 = spyre.iota {dim = 0 : i64, start = 0 : i64, step = 1 : i64} : tensor<100xi64>
  func.return
}

// Decisions of planners are attributes; a layout is the encoding of a type.

// CHECK-LABEL: @decided
// CHECK:         division = #spyre.division<array<i64: 8, 4>, array<i64: 1, 0>>
// CHECK-SAME:    group = 3 : i64
// CHECK-SAME:    places = [#spyre.place<"lx", 65536 : i64>]
// CHECK-SAME:    tile = #spyre.tile<[array<i64: 0, 8>, array<i64: -1, 4>], 2 : i64>
// CHECK-SAME:    tensor<64x128xf16, #spyre.layout<array<i64: 1, 0, 1>>>
func.func @decided(%x: !sticks) -> !sticks {
  %0 = spyre.reindex %x {sizes = array<i64: 64, 128>, extra = [array<i64>],
    source_maps = [affine_map<(i, j) -> (i, j)>], target_maps = [affine_map<(i, j) -> (i, j)>],
    division = #spyre.division<array<i64: 8, 4>, array<i64: 1, 0>>, group = 3 : i64,
    places = [#spyre.place<"lx", 65536 : i64>],
    tile = #spyre.tile<[array<i64: 0, 8>, array<i64: -1, 4>], 2 : i64>} : (!sticks) -> !sticks
  func.return %0 : !sticks
}
