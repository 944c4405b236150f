// RUN: spyre-opt %s --split-input-file --verify-diagnostics -o /dev/null
// RUN: not spyre-opt %S/Inputs/expected.mlir --verify-diagnostics 2>&1 | filecheck %S/Inputs/expected.mlir

// An expected error at the next line, by number and by word.

func.func @reduction(%a: tensor<4x8xf16>) -> tensor<4x1xf16> {
  // expected-error @+1 {{the card has no reduction "norm"}}
  %0 = spyre.reduce "norm" %a {dims = array<i64: 1>} : tensor<4x8xf16> -> tensor<4x1xf16>
  func.return %0 : tensor<4x1xf16>
}

// -----

func.func @dims(%a: tensor<4x8xf16>) -> tensor<4x1xf16> {
  // expected-error-re@below {{dims [{{[0-9]+}}] of rank 2}}
  %0 = spyre.reduce "sum" %a {dims = array<i64: 7>} : tensor<4x8xf16> -> tensor<4x1xf16>
  func.return %0 : tensor<4x1xf16>
}

// -----

// An attribute that does not verify is an error of the operation that has it.

func.func @layout() {
  // expected-error@+1 {{layout [1] does not count the sticks of dimension 1}}
  %0 = spyre.full 0.0 : f16 -> tensor<4x8xf16, #spyre.layout<array<i64: 1>>>
  func.return
}

// -----

// So is text that does not parse.

func.func @syntax() {
  %0 = spyre.full -> // expected-error {{attribute expected}}
  func.return
}
