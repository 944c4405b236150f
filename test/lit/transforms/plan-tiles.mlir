// RUN: spyre-opt %s -p spyre-plan-tiles --split-input-file | filecheck %s
// RUN: spyre-opt %s -p spyre-plan-tiles,spyre-plan-tiles --split-input-file | filecheck %s

// What fits the scratchpad at once needs no loop.

// CHECK-LABEL: @small
// CHECK:         tile = #spyre.tile<[], {{[0-9]}} : i64>
func.func @small(%x: tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64} : (tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>
}

// -----

// What does not runs in a loop.

// CHECK-LABEL: @large
// CHECK:         tile = #spyre.tile<[array<i64: {{[01]}}, {{[0-9]+}}>{{.*}}], {{[0-9]}} : i64>
func.func @large(%x: tensor<4096x4096xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<4096x4096xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64} : (tensor<4096x4096xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<4096x4096xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : tensor<4096x4096xf16, #spyre.layout<array<i64: 1, 0, 1>>>
}

// -----

// Negative: tiles that are there stay.

// CHECK-LABEL: @given
// CHECK:         tile = #spyre.tile<[array<i64: 0, 4>], 1 : i64>
func.func @given(%x: tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[array<i64: 0, 4>], 1 : i64>} : (tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>
}
