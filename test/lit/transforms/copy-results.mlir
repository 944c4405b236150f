// RUN: spyre-opt %s -p spyre-copy-results --split-input-file | filecheck %s
// RUN: spyre-opt %s -p spyre-copy-results,spyre-copy-results --split-input-file | filecheck %s

// An argument that is returned is copied, and so is the second of two equal results.

// CHECK-LABEL: @argument
// CHECK-SAME:    (%[[X:.*]]: tensor<4x100xf16>)
// CHECK:         %[[Y:.*]] = spyre.map
// CHECK:         %[[A:.*]] = spyre.reindex %[[X]]
// CHECK:         %[[B:.*]] = spyre.reindex %[[Y]]
// CHECK:         func.return %[[A]], %[[Y]], %[[B]]
func.func @argument(%x: tensor<4x100xf16>) -> (tensor<4x100xf16>, tensor<4x100xf16>, tensor<4x100xf16>) {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>]} : (tensor<4x100xf16>) -> tensor<4x100xf16> {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %x, %0, %0 : tensor<4x100xf16>, tensor<4x100xf16>, tensor<4x100xf16>
}

// -----

// Negative: a result that an operation makes needs no copy.

// CHECK-LABEL: @made
// CHECK-NOT:     spyre.reindex
func.func @made(%x: tensor<4x100xf16>) -> tensor<4x1xf16> {
  %0 = spyre.reduce "sum" %x {dims = array<i64: 1>} : tensor<4x100xf16> -> tensor<4x1xf16>
  func.return %0 : tensor<4x1xf16>
}
