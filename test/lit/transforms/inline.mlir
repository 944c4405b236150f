// RUN: spyre-opt %s --inline --symbol-dce --split-input-file --verify-diagnostics | filecheck %s
// RUN: spyre-opt %s -p spyre-inline,symbol-dce --split-input-file --verify-diagnostics | filecheck %s

// Bodies take the place of calls, at any depth; who is not called any longer goes.

// CHECK-NOT:   @inner
// CHECK-NOT:   @outer
// CHECK:       func.func @main(%[[X:.*]]: tensor<4x64xf16>)
// CHECK-NEXT:    %[[A:.*]] = spyre.map %[[X]]
// CHECK:         "abs"
// CHECK:         %[[B:.*]] = spyre.map %[[A]]
// CHECK:         "abs"
// CHECK:         func.return %[[B]]

func.func private @inner(%x: tensor<4x64xf16>) -> tensor<4x64xf16> {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>]} : (tensor<4x64xf16>) -> tensor<4x64xf16> {
  ^bb0(%a: f16):
    %b = spyre.fn "abs"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : tensor<4x64xf16>
}
func.func private @outer(%x: tensor<4x64xf16>) -> tensor<4x64xf16> {
  %0 = func.call @inner(%x) : (tensor<4x64xf16>) -> tensor<4x64xf16>
  func.return %0 : tensor<4x64xf16>
}
func.func @main(%x: tensor<4x64xf16>) -> tensor<4x64xf16> {
  %0 = func.call @outer(%x) : (tensor<4x64xf16>) -> tensor<4x64xf16>
  %1 = func.call @inner(%0) : (tensor<4x64xf16>) -> tensor<4x64xf16>
  func.return %1 : tensor<4x64xf16>
}

// -----

// Negative: a kernel stays called, and so stays.

// CHECK:       func.func private @kernel
// CHECK:       func.func @main
// CHECK:         func.call @kernel

func.func private @kernel(%x: tensor<4x64xf16>) -> tensor<4x64xf16> attributes {grid = array<i64: 1>} {
  func.return %x : tensor<4x64xf16>
}
func.func @main(%x: tensor<4x64xf16>) -> tensor<4x64xf16> {
  %0 = func.call @kernel(%x) : (tensor<4x64xf16>) -> tensor<4x64xf16>
  func.return %0 : tensor<4x64xf16>
}

// -----

// A circle of calls has no end. expected-error @unknown {{recursion: @a calls @b calls @a}}

func.func @a() {
  func.call @b() : () -> ()
  func.return
}
func.func @b() {
  func.call @a() : () -> ()
  func.return
}
