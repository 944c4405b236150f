// RUN: spyre-opt %s -p spyre-plan-places --split-input-file | filecheck %s
// RUN: spyre-opt %s -p spyre-plan-places,spyre-plan-places --split-input-file | filecheck %s

// Each buffer of a group gets an address in the scratchpad.

// CHECK-LABEL: @placed
// CHECK:         places = [#spyre.place<"lx", 0 : i64>, #spyre.place<"lx", {{[1-9][0-9]*}} : i64>]
func.func @placed(%x: tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>} : (tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>
}

// -----

// Negative: places that are there stay.

// CHECK-LABEL: @given
// CHECK:         places = [#spyre.place<"lx", 65536 : i64>, #spyre.place<"lx", 131072 : i64>]
func.func @given(%x: tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>, places = [#spyre.place<"lx", 65536 : i64>, #spyre.place<"lx", 131072 : i64>]} : (tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>
}
