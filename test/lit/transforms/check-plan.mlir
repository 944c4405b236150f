// RUN: spyre-opt %s -p spyre-check-plan --split-input-file --verify-diagnostics | filecheck %s

// Negative: a plan that keeps the limits passes unchanged.

// CHECK-LABEL: @good
// CHECK:         places = [#spyre.place<"lx", 0 : i64>, #spyre.place<"lx", 16384 : i64>]
func.func @good(%x: tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>, places = [#spyre.place<"lx", 0 : i64>, #spyre.place<"lx", 16384 : i64>]} : (tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>
}

// -----

// Too many cores.

func.func @cores(%x: tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  // expected-error@+1 {{divided over 64 cores, the chip has 32}}
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 16, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>} : (tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>
}

// -----

// Buffers that overlap while both are in use.

func.func @overlap(%x: tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  // expected-error@+1 {{overlaps the}}
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>, places = [#spyre.place<"lx", 0 : i64>, #spyre.place<"lx", 128 : i64>]} : (tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>
}

// -----

// A buffer beyond the scratchpad.

func.func @beyond(%x: tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  // expected-error@+1 {{of the scratchpad, which has}}
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>, places = [#spyre.place<"lx", 0 : i64>, #spyre.place<"lx", 2097024 : i64>]} : (tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>
}
