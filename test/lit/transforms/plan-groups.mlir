// RUN: spyre-opt %s -p spyre-plan-groups --split-input-file --verify-diagnostics | filecheck %s
// RUN: spyre-opt %s -p spyre-plan-groups,spyre-plan-groups --split-input-file --verify-diagnostics | filecheck %s

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// Neighbours that are divided alike go together, others do not.

// CHECK-LABEL: @neighbours
// CHECK:         spyre.map {{.*}} group = 0 : i64
// CHECK:         spyre.fn "exp"
// CHECK:         spyre.map {{.*}} group = 0 : i64
// CHECK:         spyre.fn "tanh"
// CHECK:         spyre.map {{.*}} group = 1 : i64
// CHECK:         spyre.fn "neg"
func.func @neighbours(%x: !t) -> !t {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %1 = spyre.map %0 {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "tanh"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %2 = spyre.map %1 {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 4, 8>, array<i64: 0, 1>>} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "neg"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %2 : !t
}

// -----

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// Operations that share no value do not share a group.

// CHECK-LABEL: @strangers
// CHECK:         spyre.map {{.*}} group = 0 : i64
// CHECK:         spyre.map {{.*}} group = 1 : i64
func.func @strangers(%x: !t, %y: !t) -> (!t, !t) {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %1 = spyre.map %y {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0, %1 : !t, !t
}

// -----

!x = tensor<16x1024xf16, #spyre.layout<array<i64: 1, 0, 1>>>
!w = tensor<1024x1024xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// What does not fit the scratchpad together is halved: two products need two pieces
// of their weights at a time, and the first one's whole result.

module attributes {spyre.chip = "spyre,scratchpad_bytes_per_core=131072"} {
  // CHECK-LABEL: @halved
  // CHECK:         spyre.matmul {{.*}} group = 0 : i64
  // CHECK:         spyre.map {{.*}} group = [[#]] : i64
  func.func @halved(%x: !x, %w: !w) -> !x {
    %0 = spyre.matmul %x, %w {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (k, n)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : !x, !w -> !x
    %1 = spyre.map %0 {maps = [affine_map<(i, j) -> (i, j)>]} : (!x) -> !x {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
    func.return %1 : !x
  }
}

// -----

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// Negative: a group that is there stays, and others get other numbers.

// CHECK-LABEL: @given
// CHECK:         spyre.map {{.*}} group = 7 : i64
// CHECK:         spyre.map {{.*}} group = 8 : i64
func.func @given(%x: !t) -> !t {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 7 : i64} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %1 = spyre.map %0 {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "tanh"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %1 : !t
}

// -----

!x = tensor<64x64xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// One stick of each operand and of the result, and what is being loaded meanwhile, is
// the least that a product works on.

module attributes {spyre.chip = "spyre,scratchpad_bytes_per_core=69632"} {
  func.func @too_small(%x: !x, %w: !x) -> !x {
    // expected-error-re@+1 {{spyre.matmul: one tile needs {{[0-9]+}} bytes of scratchpad, a core has 4096}}
    %0 = spyre.matmul %x, %w {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (k, n)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : !x, !x -> !x
    func.return %0 : !x
  }
}
