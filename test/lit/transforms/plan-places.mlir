// RUN: spyre-opt %s -p spyre-plan-places --split-input-file | filecheck %s
// RUN: spyre-opt %s -p spyre-plan-places,spyre-plan-places --split-input-file | filecheck %s

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// An operation's places: its result, then the operands that it loads. A core's share
// is 32 rows of two sticks.

// CHECK-LABEL: @placed
// CHECK:         places = [#spyre.place<"lx", 0 : i64>, #spyre.place<"lx", 8192 : i64>]
func.func @placed(%x: !t) -> !t {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : !t
}

// -----

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// A result between operations of the group is placed where it is not in the way of
// what is in use with it, and its bytes are free after its last use: the third result
// takes the first one's.

// CHECK-LABEL: @chain
// CHECK:         spyre.map {{.*}} places = [#spyre.place<"lx", [[FIRST:[0-9]+]] : i64>, #spyre.place<"lx", {{[0-9]+}} : i64>]
// CHECK:         spyre.fn "exp"
// CHECK:         spyre.map {{.*}} places = [#spyre.place<"lx", {{[0-9]+}} : i64>]
// CHECK:         spyre.fn "tanh"
// CHECK:         spyre.map {{.*}} places = [#spyre.place<"lx", [[FIRST]] : i64>]
// CHECK:         spyre.fn "neg"
func.func @chain(%x: !t) -> !t {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %1 = spyre.map %0 {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "tanh"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %2 = spyre.map %1 {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "neg"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %3 = spyre.map %2 {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "abs"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %3 : !t
}

// -----

!a = tensor<64x4096xf16, #spyre.layout<array<i64: 1, 0, 1>>>
!b = tensor<4096x64xf16, #spyre.layout<array<i64: 1, 0, 1>>>
!c = tensor<64x64xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// A sum in several trips has f32 partial sums, the last of its places; what is loaded
// trip by trip has two stages.

// CHECK-LABEL: @partial
// CHECK:         places = [#spyre.place<"lx", {{[0-9]+}} : i64>, #spyre.place<"lx", {{[0-9]+}} : i64>, #spyre.place<"lx", {{[0-9]+}} : i64>, #spyre.place<"lx", {{[0-9]+}} : i64>]
func.func @partial(%a: !a, %b: !b) -> !c {
  %0 = spyre.matmul %a, %b {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (k, n)>, result_map = affine_map<(m, n, k) -> (m, n)>, group = 0 : i64, tile = #spyre.tile<[array<i64: 2, 8>], 2 : i64>}
    : !a, !b -> !c
  func.return %0 : !c
}

// -----

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// Negative: places that are there stay.

// CHECK-LABEL: @given
// CHECK:         places = [#spyre.place<"lx", 65536 : i64>, #spyre.place<"lx", 131072 : i64>]
func.func @given(%x: !t) -> !t {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>, places = [#spyre.place<"lx", 65536 : i64>, #spyre.place<"lx", 131072 : i64>]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : !t
}
