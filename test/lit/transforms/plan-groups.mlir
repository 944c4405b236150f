// RUN: spyre-opt %s -p spyre-plan-groups --split-input-file | filecheck %s
// RUN: spyre-opt %s -p spyre-plan-groups,spyre-plan-groups --split-input-file | filecheck %s

// Neighbours that are divided alike go together, others do not.

// CHECK-LABEL: @neighbours
// CHECK:         spyre.map {{.*}} group = 0 : i64
// CHECK:         spyre.fn "exp"
// CHECK:         spyre.map {{.*}} group = 0 : i64
// CHECK:         spyre.fn "tanh"
// CHECK:         spyre.map {{.*}} group = 1 : i64
// CHECK:         spyre.fn "neg"
func.func @neighbours(%x: tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>} : (tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %1 = spyre.map %0 {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>} : (tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  ^bb0(%a: f16):
    %b = spyre.fn "tanh"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %2 = spyre.map %1 {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 4, 8>, array<i64: 0, 1>>} : (tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  ^bb0(%a: f16):
    %b = spyre.fn "neg"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %2 : tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>
}

// -----

// Negative: a group that is there stays, and others get other numbers.

// CHECK-LABEL: @given
// CHECK:         spyre.map {{.*}} group = 7 : i64
// CHECK:         spyre.map {{.*}} group = 8 : i64
func.func @given(%x: tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 7 : i64} : (tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %1 = spyre.map %0 {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>} : (tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  ^bb0(%a: f16):
    %b = spyre.fn "tanh"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %1 : tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>
}
