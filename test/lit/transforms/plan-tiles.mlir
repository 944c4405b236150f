// RUN: spyre-opt %s -p spyre-plan-tiles --split-input-file --verify-diagnostics | filecheck %s
// RUN: spyre-opt %s -p spyre-plan-tiles,spyre-plan-tiles --split-input-file --verify-diagnostics | filecheck %s

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// What fits the scratchpad at once needs no loop.

// CHECK-LABEL: @small
// CHECK:         tile = #spyre.tile<[], 2 : i64>
func.func @small(%x: !t) -> !t {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : !t
}

// -----

!t = tensor<4096x4096xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// What does not runs in a loop; what loops share, all of a group do.

// CHECK-LABEL: @large
// CHECK:         spyre.map {{.*}} tile = [[TILE:#spyre.tile<.array<i64: [01], [0-9]+>.*, 2 : i64>]]}
// CHECK:         spyre.map {{.*}} tile = [[TILE]]}
func.func @large(%x: !t) -> !t {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %1 = spyre.map %0 {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "tanh"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %1 : !t
}

// -----

!a = tensor<64x4096xf16, #spyre.layout<array<i64: 1, 0, 1>>>
!b = tensor<4096x64xf16, #spyre.layout<array<i64: 1, 0, 1>>>
!c = tensor<64x64xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// A long sum is cut, so that pieces are multiplied while others come.

// CHECK-LABEL: @long_sum
// CHECK:         spyre.matmul {{.*}} tile = #spyre.tile<[array<i64: 2, {{[0-9]+}}>], 2 : i64>
func.func @long_sum(%a: !a, %b: !b) -> !c {
  %0 = spyre.matmul %a, %b {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (k, n)>, result_map = affine_map<(m, n, k) -> (m, n)>, group = 0 : i64}
    : !a, !b -> !c
  func.return %0 : !c
}

// -----

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// Negative: tiles that are there stay, and the others of their group follow them.

// CHECK-LABEL: @given
// CHECK:         spyre.map {{.*}} tile = #spyre.tile<[array<i64: 0, 4>], 1 : i64>}
// CHECK:         spyre.fn "exp"
// CHECK:         spyre.map {{.*}} tile = #spyre.tile<[array<i64: 0, 4>], 2 : i64>}
// CHECK:         spyre.fn "tanh"
func.func @given(%x: !t) -> !t {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[array<i64: 0, 4>], 1 : i64>} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %1 = spyre.map %0 {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "tanh"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %1 : !t
}

// -----

!x = tensor<64x64xf16, #spyre.layout<array<i64: 1, 0, 1>>>

module attributes {spyre.chip = "spyre,scratchpad_bytes_per_core=69632"} {
  func.func @too_small(%x: !x, %w: !x) -> !x {
    // expected-error-re@+1 {{spyre.matmul: one tile needs {{[0-9]+}} bytes of scratchpad, a core has 4096}}
    %0 = spyre.matmul %x, %w {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (k, n)>, result_map = affine_map<(m, n, k) -> (m, n)>, group = 0 : i64}
    : !x, !x -> !x
    func.return %0 : !x
  }
}
