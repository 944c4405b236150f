// RUN: spyre-opt %s -p spyre-copy-results --split-input-file | filecheck %s
// RUN: spyre-opt %s -p spyre-copy-results,spyre-copy-results --split-input-file | filecheck %s

!t = tensor<4x100xf16>

// An argument that is returned is copied, and so is the second of two equal results.

// CHECK-LABEL: @argument
// CHECK-SAME:    (%[[X:.*]]: tensor<4x100xf16>)
// CHECK:         %[[Y:.*]] = spyre.map
// CHECK:         %[[A:.*]] = spyre.reindex %[[X]]
// CHECK:         %[[B:.*]] = spyre.reindex %[[Y]]
// CHECK:         func.return %[[A]], %[[Y]], %[[B]]
func.func @argument(%x: !t) -> (!t, !t, !t) {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %x, %0, %0 : !t, !t, !t
}

// -----

!t = tensor<4x100xf16, #spyre.layout<array<i64: 0, 1, 0>>>

// A copy keeps the layout.

// CHECK-LABEL: @layout
// CHECK:         spyre.reindex %{{.*}} : ([[T:tensor<.*>]]) -> [[T]]
func.func @layout(%x: !t) -> !t {
  func.return %x : !t
}

// -----

!t = tensor<4x100xf16>
!r = tensor<4x1xf16>

// Negative: a result that an operation makes needs no copy, nor one that a call gives:
// the function that is called has made it.

// CHECK-LABEL: @made
// CHECK-NOT:     spyre.reindex
func.func @made(%x: !t) -> (!r, !r) {
  %0 = spyre.reduce "sum" %x {dims = array<i64: 1>} : !t -> !r
  %1 = func.call @maximum(%x) : (!t) -> !r
  func.return %0, %1 : !r, !r
}
func.func private @maximum(%x: !t) -> !r {
  %0 = spyre.reduce "max" %x {dims = array<i64: 1>} : !t -> !r
  func.return %0 : !r
}
