// RUN: spyre-opt %s -p spyre-plan-division --split-input-file | filecheck %s
// RUN: spyre-opt %s -p spyre-plan-division,spyre-plan-division --split-input-file | filecheck %s

// Every operation gets parts by iterator, on up to 32 cores; a chain gets the same.

// CHECK-LABEL: @chain
// CHECK:         spyre.map {{.*}} division = [[DIVISION:#spyre.division<array<i64: [0-9]+, [0-9]+>, array<i64: 0, 1>>]]}
// CHECK:         spyre.map {{.*}} division = [[DIVISION]]}
func.func @chain(%x: tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>]} : (tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %1 = spyre.map %0 {maps = [affine_map<(i, j) -> (i, j)>]} : (tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  ^bb0(%a: f16):
    %b = spyre.fn "tanh"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %1 : tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>
}

// -----

// Negative: a division that is there stays.

// CHECK-LABEL: @given
// CHECK:         division = #spyre.division<array<i64: 2, 1>, array<i64: 0, 1>>
func.func @given(%x: tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 2, 1>, array<i64: 0, 1>>} : (tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>
}
