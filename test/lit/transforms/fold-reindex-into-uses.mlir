// RUN: spyre-opt %s -p spyre-fold-reindex-into-uses,dce --split-input-file | filecheck %s
// RUN: spyre-opt %s -p spyre-fold-reindex-into-uses,spyre-fold-reindex-into-uses,dce --split-input-file | filecheck %s

// A product reads a transposed operand itself.

// CHECK-LABEL: @matmul_of_transpose
// CHECK-SAME:    (%[[A:.*]]: tensor<64x128xf16>, %[[B:.*]]: tensor<128x32xf16>)
// CHECK-NEXT:    spyre.matmul %[[A]], %[[B]]
// CHECK-SAME:      rhs_map = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-NEXT:    func.return
func.func @matmul_of_transpose(%a: tensor<64x128xf16>, %b: tensor<128x32xf16>) -> tensor<64x32xf16> {
  %0 = spyre.reindex %b {sizes = array<i64: 128, 32>, extra = [array<i64>],
    source_maps = [affine_map<(i, j) -> (i, j)>], target_maps = [affine_map<(i, j) -> (j, i)>]}
    : (tensor<128x32xf16>) -> tensor<32x128xf16>
  %1 = spyre.matmul %a, %0 {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : tensor<64x128xf16>, tensor<32x128xf16> -> tensor<64x32xf16>
  func.return %1 : tensor<64x32xf16>
}

// -----

// An operand that is the same for all of a batch is read without the batch.

// CHECK-LABEL: @matmul_of_expand
// CHECK-SAME:    (%[[A:.*]]: tensor<3x64x128xf16>, %[[B:.*]]: tensor<32x128xf16>)
// CHECK-NEXT:    spyre.matmul %[[A]], %[[B]]
// CHECK-SAME:      rhs_map = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
// CHECK-NEXT:    func.return
func.func @matmul_of_expand(%a: tensor<3x64x128xf16>, %b: tensor<32x128xf16>) -> tensor<3x64x32xf16> {
  %0 = spyre.reindex %b {sizes = array<i64: 3, 32, 128>, extra = [array<i64>],
    source_maps = [affine_map<(b, i, j) -> (i, j)>], target_maps = [affine_map<(b, i, j) -> (b, i, j)>]}
    : (tensor<32x128xf16>) -> tensor<3x32x128xf16>
  %1 = spyre.matmul %a, %0 {lhs_map = affine_map<(b, m, n, k) -> (b, m, k)>,
    rhs_map = affine_map<(b, m, n, k) -> (b, n, k)>, result_map = affine_map<(b, m, n, k) -> (b, m, n)>}
    : tensor<3x64x128xf16>, tensor<3x32x128xf16> -> tensor<3x64x32xf16>
  func.return %1 : tensor<3x64x32xf16>
}

// -----

// A map reads through a broadcast and through dimensions of size 1.

// CHECK-LABEL: @map_of_views
// CHECK-SAME:    (%[[X:.*]]: tensor<4x100xf16>, %[[Y:.*]]: tensor<100xf16>)
// CHECK-NEXT:    spyre.map %[[X]], %[[Y]]
// CHECK-SAME:      maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>]
func.func @map_of_views(%x: tensor<4x100xf16>, %y: tensor<100xf16>) -> tensor<4x100xf16> {
  %0 = spyre.reindex %y {sizes = array<i64: 100>, extra = [array<i64>],
    source_maps = [affine_map<(j) -> (j)>], target_maps = [affine_map<(j) -> (0, j)>]}
    : (tensor<100xf16>) -> tensor<1x100xf16>
  %1 = spyre.reindex %0 {sizes = array<i64: 4, 100>, extra = [array<i64>],
    source_maps = [affine_map<(i, j) -> (0, j)>], target_maps = [affine_map<(i, j) -> (i, j)>]}
    : (tensor<1x100xf16>) -> tensor<4x100xf16>
  %2 = spyre.map %x, %1 {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]}
    : (tensor<4x100xf16>, tensor<4x100xf16>) -> tensor<4x100xf16> {
  ^bb0(%a: f16, %b: f16):
    %c = spyre.fn "add"(%a, %b) : (f16, f16) -> f16
    spyre.yield %c : f16
  }
  func.return %2 : tensor<4x100xf16>
}

// -----

// A gather from a transposed table gathers along the other dimension.

// CHECK-LABEL: @gather_of_transpose
// CHECK-SAME:    (%[[T:.*]]: tensor<384x1000xf16>, %[[I:.*]]: tensor<32xi64>)
// CHECK-NEXT:    spyre.gather %[[T]], %[[I]]
// CHECK-SAME:      axis = 1 : i64
// CHECK-SAME:      source_map = affine_map<(d0, d1) -> (d1, 0)>
func.func @gather_of_transpose(%t: tensor<384x1000xf16>, %i: tensor<32xi64>) -> tensor<32x384xf16> {
  %0 = spyre.reindex %t {sizes = array<i64: 384, 1000>, extra = [array<i64>],
    source_maps = [affine_map<(i, j) -> (i, j)>], target_maps = [affine_map<(i, j) -> (j, i)>]}
    : (tensor<384x1000xf16>) -> tensor<1000x384xf16>
  %1 = spyre.gather %0, %i {axis = 0 : i64, source_map = affine_map<(r, c) -> (0, c)>,
    index_map = affine_map<(r, c) -> (r)>}
    : tensor<1000x384xf16>, tensor<32xi64> -> tensor<32x384xf16>
  func.return %1 : tensor<32x384xf16>
}

// -----

// Negative: summing a broadcast operand over its broadcast dimension needs it there.

// CHECK-LABEL: @summed_broadcast
// CHECK:         spyre.reindex
// CHECK:         spyre.matmul
func.func @summed_broadcast(%a: tensor<64x128xf16>, %b: tensor<32xf16>) -> tensor<64x32xf16> {
  %0 = spyre.reindex %b {sizes = array<i64: 32, 128>, extra = [array<i64>],
    source_maps = [affine_map<(i, j) -> (i)>], target_maps = [affine_map<(i, j) -> (i, j)>]}
    : (tensor<32xf16>) -> tensor<32x128xf16>
  %1 = spyre.matmul %a, %0 {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : tensor<64x128xf16>, tensor<32x128xf16> -> tensor<64x32xf16>
  func.return %1 : tensor<64x32xf16>
}

// -----

// Negative: a slice is no view of the whole, a layout was asked for by somebody.

// CHECK-LABEL: @kept
// CHECK-COUNT-2: spyre.reindex
// CHECK:         spyre.map
func.func @kept(%x: tensor<4x100xf16>) -> tensor<4x64xf16> {
  %0 = spyre.reindex %x {sizes = array<i64: 4, 64>, extra = [array<i64>],
    source_maps = [affine_map<(i, j) -> (i, j + 10)>], target_maps = [affine_map<(i, j) -> (i, j)>]}
    : (tensor<4x100xf16>) -> tensor<4x64xf16>
  %1 = spyre.reindex %0 {sizes = array<i64: 4, 64>, extra = [array<i64>],
    source_maps = [affine_map<(i, j) -> (i, j)>], target_maps = [affine_map<(i, j) -> (i, j)>]}
    : (tensor<4x64xf16>) -> tensor<4x64xf16, #spyre.layout<array<i64: 0, 1, 0>>>
  %2 = spyre.map %0, %1 {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]}
    : (tensor<4x64xf16>, tensor<4x64xf16, #spyre.layout<array<i64: 0, 1, 0>>>) -> tensor<4x64xf16> {
  ^bb0(%a: f16, %b: f16):
    %c = spyre.fn "add"(%a, %b) : (f16, f16) -> f16
    spyre.yield %c : f16
  }
  func.return %2 : tensor<4x64xf16>
}
