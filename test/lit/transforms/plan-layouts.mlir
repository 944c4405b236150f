// RUN: spyre-opt %s -p spyre-plan-layouts --split-input-file | filecheck %s
// RUN: spyre-opt %s -p spyre-plan-layouts,spyre-plan-layouts --split-input-file | filecheck %s

!t64_128 = tensor<64x128xf16>

// Arguments and results get the default layout: the last dimension in sticks.

// CHECK-LABEL: @default
// CHECK-SAME:    (%{{.*}}: tensor<64x128xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<64x128xf16, #spyre.layout<array<i64: 1, 0, 1>>>
// CHECK:         spyre.map {{.*}} : (tensor<64x128xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<64x128xf16, #spyre.layout<array<i64: 1, 0, 1>>>
func.func @default(%x: !t64_128) -> !t64_128 {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>]} : (!t64_128) -> !t64_128 {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : !t64_128
}

// -----

!t64_128_rows = tensor<64x128xf16, #spyre.layout<array<i64: 0, 1, 0>>>
!t64_128 = tensor<64x128xf16>

// Negative: a layout that is there stays.

// CHECK-LABEL: @given
// CHECK:         spyre.map {{.*}} : (tensor<64x128xf16, #spyre.layout<array<i64: 0, 1, 0>>>) -> tensor<64x128xf16, #spyre.layout<array<i64: 0, 1, 0>>>
func.func @given(%x: !t64_128_rows) -> !t64_128 {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>]} : (!t64_128_rows) -> !t64_128_rows {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %1 = spyre.map %0 {maps = [affine_map<(i, j) -> (i, j)>]} : (!t64_128_rows) -> !t64_128 {
  ^bb0(%a: f16):
    %b = spyre.fn "tanh"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %1 : !t64_128
}

// -----

!t4_100 = tensor<4x100xf16>
!t4_1_f32 = tensor<4x1xf32>

// A reduction leaves one element per stick of the folded dimension.

// CHECK-LABEL: @reduction
// CHECK-SAME:    (%{{.*}}: tensor<4x100xf16, #spyre.layout<array<i64: 1, 0, 1>>>)
// CHECK:         spyre.reduce
// CHECK-SAME:    -> tensor<4x1xf32, #spyre.layout<array<i64: 1, 0, 1>>>
func.func @reduction(%x: !t4_100) -> !t4_1_f32 {
  %0 = spyre.reduce "sum" %x {dims = array<i64: 1>} : !t4_100 -> !t4_1_f32
  func.return %0 : !t4_1_f32
}

// -----

!t8_16 = tensor<8x16xf16>
!t32_16 = tensor<32x16xf16>
!t8_32 = tensor<8x32xf16>

// A static argument gets the layout that its first user wants: the features of the
// result run along sticks. The other one is no weight, and keeps the default.

// CHECK-LABEL: @weight
// CHECK-SAME:    (%{{.*}}: tensor<8x16xf16, #spyre.layout<array<i64: 1, 0, 1>>>,
// CHECK-SAME:    %{{.*}}: tensor<32x16xf16, #spyre.layout<array<i64: 0, 1, 0>>> {spyre.static},
// CHECK-SAME:    %{{.*}}: tensor<32x16xf16, #spyre.layout<array<i64: 1, 0, 1>>>)
func.func @weight(%x: !t8_16, %w: !t32_16 {spyre.static}, %v: !t32_16)
    -> (!t8_32, !t8_32) {
  %0 = spyre.matmul %x, %w {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : !t8_16, !t32_16 -> !t8_32
  %1 = spyre.matmul %x, %v {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : !t8_16, !t32_16 -> !t8_32
  func.return %0, %1 : !t8_32, !t8_32
}

// -----

!t8_16 = tensor<8x16xf16>
!t16_16 = tensor<16x16xf16>

// A function that is handed static arguments alone chooses for its callers.

// CHECK-LABEL: @caller
// CHECK-SAME:    %{{.*}}: tensor<16x16xf16, #spyre.layout<array<i64: 0, 1, 0>>> {spyre.static},
// CHECK-SAME:    %{{.*}}: tensor<16x16xf16, #spyre.layout<array<i64: 0, 1, 0>>> {spyre.static})
// CHECK:       func.func private @layer
// CHECK-SAME:    (%{{.*}}: tensor<8x16xf16, #spyre.layout<array<i64: 1, 0, 1>>>,
// CHECK-SAME:    %{{.*}}: tensor<16x16xf16, #spyre.layout<array<i64: 0, 1, 0>>> {spyre.static})
func.func @caller(%x: !t8_16, %w0: !t16_16 {spyre.static}, %w1: !t16_16 {spyre.static})
    -> !t8_16 {
  %0 = func.call @layer(%x, %w0) : (!t8_16, !t16_16) -> !t8_16
  %1 = func.call @layer(%0, %w1) : (!t8_16, !t16_16) -> !t8_16
  func.return %1 : !t8_16
}
func.func private @layer(%x: !t8_16, %w: !t16_16 {spyre.static}) -> !t8_16 {
  %0 = spyre.matmul %x, %w {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : !t8_16, !t16_16 -> !t8_16
  func.return %0 : !t8_16
}

// -----

!t8_16 = tensor<8x16xf16>
!t8_16_rows = tensor<8x16xf16, #spyre.layout<array<i64: 0, 1, 0>>>

// A decision that is there is left alone, and an attribute is one.

// CHECK-LABEL: @decided
// CHECK-SAME:    (%{{.*}}: tensor<8x16xf16, #spyre.layout<array<i64: 0, 1, 0>>> {spyre.layout = #spyre.layout<array<i64: 0, 1, 0>>},
// CHECK-SAME:    %{{.*}}: tensor<8x16xf16, #spyre.layout<array<i64: 0, 1, 0>>> {spyre.static})
func.func @decided(%x: !t8_16 {spyre.layout = #spyre.layout<array<i64: 0, 1, 0>>},
    %w: !t8_16_rows {spyre.static}) -> !t8_16 {
  %0 = spyre.map %x, %w {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]}
    : (!t8_16, !t8_16_rows) -> !t8_16 {
  ^bb0(%a: f16, %b: f16):
    %c = spyre.fn "add"(%a, %b) : (f16, f16) -> f16
    spyre.yield %c : f16
  }
  func.return %0 : !t8_16
}

// -----

!t16_16 = tensor<16x16xf16>

// A call hands over what the callee's arguments are, and a result leaves in the
// default layout, or the one that its attribute asks for.

// CHECK-LABEL: @mixed
// CHECK-NEXT:    %[[W:.*]] = spyre.reindex %{{.*}} {{.*}} -> tensor<16x16xf16, #spyre.layout<array<i64: 0, 1, 0>>>
// CHECK-NEXT:    %[[R:.*]] = func.call @layer(%{{.*}}, %[[W]])
// CHECK-NEXT:    %[[T:.*]] = spyre.reindex %[[R]] {{.*}} -> tensor<16x16xf16, #spyre.layout<array<i64: 0, 1, 0>>>
// CHECK-NEXT:    func.return %[[T]], %[[R]]
func.func @mixed(%x: !t16_16, %w: !t16_16)
    -> (!t16_16 {spyre.layout = #spyre.layout<array<i64: 0, 1, 0>>}, !t16_16) {
  %0 = func.call @layer(%x, %w) : (!t16_16, !t16_16) -> !t16_16
  func.return %0, %0 : !t16_16, !t16_16
}
func.func private @layer(%x: !t16_16, %w: !t16_16 {spyre.static}) -> !t16_16 {
  %0 = spyre.matmul %x, %w {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : !t16_16, !t16_16 -> !t16_16
  func.return %0 : !t16_16
}

// -----

!t1 = tensor<1xf16>
!t64_128 = tensor<64x128xf16>

// One element spread over a matrix gets the default layout: one element per stick would
// make the result 64 times as large.

// CHECK-LABEL: @spread
// CHECK:         spyre.map {{.*}} -> tensor<64x128xf16, #spyre.layout<array<i64: 1, 0, 1>>>
// CHECK-NEXT:    ^{{.*}}
// CHECK-NEXT:      spyre.fn "exp"
// CHECK:         func.return
func.func @spread(%x: !t1) -> !t64_128 {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (0)>]} : (!t1) -> !t64_128 {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : !t64_128
}

// -----

!t64_1 = tensor<64x1xf16>
!t128 = tensor<128xf16>
!t64_128 = tensor<64x128xf16>

// The outer product of two such values is dense: the smaller move decides along what.

// CHECK-LABEL: @outer
// CHECK:         spyre.map {{.*}} -> tensor<64x128xf16, #spyre.layout<array<i64: 0, 1, 0>>>
func.func @outer(%x: !t64_1, %y: tensor<128x1xf16>) -> !t64_128 {
  %0 = spyre.map %x, %y {maps = [affine_map<(i, j) -> (i, 0)>,
    affine_map<(i, j) -> (j, 0)>]} : (!t64_1, tensor<128x1xf16>) -> !t64_128 {
  ^bb0(%a: f16, %b: f16):
    %c = spyre.fn "mul"(%a, %b) : (f16, f16) -> f16
    spyre.yield %c : f16
  }
  func.return %0 : !t64_128
}

// -----

!t64_128 = tensor<64x128xf16>
!t64_1 = tensor<64x1xf16>
!t64_1_f32 = tensor<64x1xf32>

// A value with one element per stick keeps it, if nothing is spread: no move.

// CHECK-LABEL: @kept
// CHECK:         spyre.reduce
// CHECK-NOT:     spyre.restickify
// CHECK:         spyre.map {{.*}} -> tensor<64x1xf32, #spyre.layout<array<i64: 1, 0, 1>>>
func.func @kept(%x: !t64_128) -> !t64_1_f32 {
  %0 = spyre.reduce "sum" %x {dims = array<i64: 1>} : !t64_128 -> !t64_1_f32
  %1 = spyre.map %0 {maps = [affine_map<(i, j) -> (i, 0)>]} : (!t64_1_f32) -> !t64_1_f32 {
  ^bb0(%a: f32):
    %b = spyre.fn "sqrt"(%a) : (f32) -> f32
    spyre.yield %b : f32
  }
  func.return %1 : !t64_1_f32
}
