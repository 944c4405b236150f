// RUN: spyre-opt %s -p spyre-materialize-layouts --split-input-file | filecheck %s
// RUN: spyre-opt %s -p spyre-materialize-layouts,spyre-materialize-layouts --split-input-file | filecheck %s

// The array takes the weight with its columns in sticks: a restickify comes before it.

// CHECK-LABEL: @weight
// CHECK-SAME:    (%[[X:.*]]: tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>, %[[W:.*]]: tensor<384x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>)
// CHECK-NEXT:    %[[R:.*]] = spyre.reindex %[[W]] {{.*}} : (tensor<384x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<384x512xf16, #spyre.layout<array<i64: 0, 1, 0>>>
// CHECK-NEXT:    spyre.matmul %[[X]], %[[R]]
func.func @weight(%x: tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>, %w: tensor<384x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>) -> tensor<256x384xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  %0 = spyre.matmul %x, %w {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>, tensor<384x512xf16, #spyre.layout<array<i64: 1, 0, 1>>> -> tensor<256x384xf16, #spyre.layout<array<i64: 1, 0, 1>>>
  func.return %0 : tensor<256x384xf16, #spyre.layout<array<i64: 1, 0, 1>>>
}

// -----

// Negative: operands that lie as they should are read where they are.

// CHECK-LABEL: @fits
// CHECK-NOT:     spyre.reindex
func.func @fits(%x: tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>, %w: tensor<384x512xf16, #spyre.layout<array<i64: 0, 1, 0>>>) -> tensor<256x384xf16, #spyre.layout<array<i64: 1, 0, 1>>> {
  %0 = spyre.matmul %x, %w {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>, tensor<384x512xf16, #spyre.layout<array<i64: 0, 1, 0>>> -> tensor<256x384xf16, #spyre.layout<array<i64: 1, 0, 1>>>
  func.return %0 : tensor<256x384xf16, #spyre.layout<array<i64: 1, 0, 1>>>
}
