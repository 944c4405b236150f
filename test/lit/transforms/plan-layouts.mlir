// RUN: spyre-opt %s -p spyre-plan-layouts --split-input-file | filecheck %s
// RUN: spyre-opt %s -p spyre-plan-layouts,spyre-plan-layouts --split-input-file | filecheck %s

// Arguments and results get the default layout: the last dimension in sticks.

// CHECK-LABEL: @default
// CHECK-SAME:    (%{{.*}}: tensor<64x128xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<64x128xf16, #spyre.layout<array<i64: 1, 0, 1>>>
// CHECK:         spyre.map {{.*}} : (tensor<64x128xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<64x128xf16, #spyre.layout<array<i64: 1, 0, 1>>>
func.func @default(%x: tensor<64x128xf16>) -> tensor<64x128xf16> {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>]} : (tensor<64x128xf16>) -> tensor<64x128xf16> {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : tensor<64x128xf16>
}

// -----

// Negative: a layout that is there stays.

// CHECK-LABEL: @given
// CHECK:         spyre.map {{.*}} : (tensor<64x128xf16, #spyre.layout<array<i64: 0, 1, 0>>>) -> tensor<64x128xf16, #spyre.layout<array<i64: 0, 1, 0>>>
func.func @given(%x: tensor<64x128xf16, #spyre.layout<array<i64: 0, 1, 0>>>) -> tensor<64x128xf16> {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>]} : (tensor<64x128xf16, #spyre.layout<array<i64: 0, 1, 0>>>) -> tensor<64x128xf16, #spyre.layout<array<i64: 0, 1, 0>>> {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %1 = spyre.map %0 {maps = [affine_map<(i, j) -> (i, j)>]} : (tensor<64x128xf16, #spyre.layout<array<i64: 0, 1, 0>>>) -> tensor<64x128xf16> {
  ^bb0(%a: f16):
    %b = spyre.fn "tanh"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %1 : tensor<64x128xf16>
}
