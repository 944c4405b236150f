// RUN: spyre-opt %s -p spyre-materialize-layouts --split-input-file --verify-diagnostics | filecheck %s
// RUN: spyre-opt %s -p spyre-materialize-layouts,spyre-materialize-layouts --split-input-file --verify-diagnostics | filecheck %s

!x = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>
!w = tensor<384x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>
!y = tensor<256x384xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// The array takes the weight with its columns in sticks: a restickify comes before it,
// once for both users.

// CHECK-LABEL: @weight
// CHECK-SAME:    (%[[X:.*]]: tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>, %[[W:.*]]: tensor<384x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>)
// CHECK-NEXT:    %[[R:.*]] = spyre.reindex %[[W]] {{.*}} : (tensor<384x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<384x512xf16, #spyre.layout<array<i64: 0, 1, 0>>>
// CHECK-NEXT:    spyre.matmul %[[X]], %[[R]]
// CHECK-NEXT:    spyre.matmul %[[X]], %[[R]]
func.func @weight(%x: !x, %w: !w) -> (!y, !y) {
  %0 = spyre.matmul %x, %w {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : !x, !w -> !y
  %1 = spyre.matmul %x, %w {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : !x, !w -> !y
  func.return %0, %1 : !y, !y
}

// -----

!x = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>
!t = tensor<256x512xf16, #spyre.layout<array<i64: 0, 1, 0>>>

// Operands of a function of elements have the result's sticks.

// CHECK-LABEL: @elements
// CHECK-SAME:    (%[[X:.*]]: tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>, %[[T:.*]]: tensor<256x512xf16, #spyre.layout<array<i64: 0, 1, 0>>>)
// CHECK-NEXT:    %[[S:.*]] = spyre.reindex %[[T]]
// CHECK-NEXT:    spyre.map %[[X]], %[[S]]
func.func @elements(%x: !x, %t: !t) -> !x {
  %0 = spyre.map %x, %t {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]} : (!x, !t) -> !x {
  ^bb0(%a: f16, %b: f16):
    %c = spyre.fn "add"(%a, %b) : (f16, f16) -> f16
    spyre.yield %c : f16
  }
  func.return %0 : !x
}

// -----

!x = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>
!w = tensor<384x512xf16, #spyre.layout<array<i64: 0, 1, 0>>>
!y = tensor<256x384xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// Negative: operands that lie as they should are read where they are.

// CHECK-LABEL: @fits
// CHECK-NOT:     spyre.reindex
func.func @fits(%x: !x, %w: !w) -> !y {
  %0 = spyre.matmul %x, %w {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : !x, !w -> !y
  func.return %0 : !y
}

// -----

!x = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>
!r = tensor<256x1xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// Negative: one element per stick goes with any sticks.

// CHECK-LABEL: @broadcast
// CHECK-NOT:     spyre.reindex
func.func @broadcast(%x: !x, %r: !r) -> !x {
  %0 = spyre.map %x, %r {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, 0)>]} : (!x, !r) -> !x {
  ^bb0(%a: f16, %b: f16):
    %c = spyre.fn "sub"(%a, %b) : (f16, f16) -> f16
    spyre.yield %c : f16
  }
  func.return %0 : !x
}

// -----

!t = tensor<64x128xf16>

// Layouts come first.

func.func @undecided(%x: !t) -> !t {
  // expected-error@+1 {{spyre.map: tensor<64x128xf16> has no layout; run spyre-plan-layouts first}}
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : !t
}
