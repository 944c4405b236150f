// RUN: spyre-opt %s --split-input-file --verify-diagnostics -o /dev/null

// The function table says which functions there are, and how many operands each takes.

func.func @case(%a: f16) {
  // expected-error@+1 {{no scalar function 'twice'}}
  %x = spyreop.fn "twice"(%a) : (f16) -> f16
  func.return
}

// -----

func.func @case(%a: f16) {
  // expected-error@+1 {{'atan2' takes 2 operands, got 1}}
  %x = spyreop.fn "atan2"(%a) : (f16) -> f16
  func.return
}

// -----

func.func @case(%a: f16) {
  // expected-error@+1 {{beta is not zero}}
  %x = spyreop.softplus %a beta 0.0 : f32 threshold 1.0 : f32 : f16
  func.return
}

// -----

func.func @case(%a: tensor<64xf16>) {
  // expected-error@+1 {{unknown reduction kind 'mul', expected one of add, max}}
  %x = spyreop.slice_reduction %a {reduction_kind = "mul", reduction_scope = "in_slice"} : tensor<64xf16> -> tensor<64xf16>
  func.return
}

// -----

func.func @case(%a: tensor<64xf16>) {
  // expected-error@+1 {{unknown reduction scope 'all', expected one of in_slice, across_slice}}
  %x = spyreop.slice_reduction %a {reduction_kind = "add", reduction_scope = "all"} : tensor<64xf16> -> tensor<64xf16>
  func.return
}

// -----

func.func @case(%a: f32) {
  // expected-error@+1 {{Unexpected attribute f32}}
  %x = spyreop.gelu %a : f32
  func.return
}
