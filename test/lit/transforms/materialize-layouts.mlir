// RUN: spyre-opt %s -p spyre-materialize-layouts --split-input-file | filecheck %s
// RUN: spyre-opt %s -p spyre-materialize-layouts,spyre-materialize-layouts --split-input-file | filecheck %s

!rows = tensor<16x16xf16, #spyre.layout<array<i64: 1, 0, 1>>>
!columns = tensor<16x16xf16, #spyre.layout<array<i64: 0, 1, 0>>>

// A matmul's right operand has its sticks along the features of the result.

// CHECK-LABEL: @operand
// CHECK:         %[[W:.*]] = spyre.reindex %{{.*}} {{.*}} -> tensor<16x16xf16, #spyre.layout<array<i64: 0, 1, 0>>>
// CHECK-NEXT:    spyre.matmul %{{.*}}, %[[W]]
func.func @operand(%x: !rows, %w: !rows) -> !rows {
  %0 = spyre.matmul %x, %w {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : !rows, !rows -> !rows
  func.return %0 : !rows
}

// -----

!rows = tensor<16x16xf16, #spyre.layout<array<i64: 1, 0, 1>>>
!columns = tensor<16x16xf16, #spyre.layout<array<i64: 0, 1, 0>>>

// A weight that has the right layout is left alone.

// CHECK-LABEL: @weight
// CHECK-NOT:     spyre.reindex
func.func @weight(%x: !rows, %w: !columns {spyre.static}) -> !rows {
  %0 = spyre.matmul %x, %w {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : !rows, !columns -> !rows
  func.return %0 : !rows
}
