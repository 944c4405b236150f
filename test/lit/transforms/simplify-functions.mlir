// RUN: spyre-opt %s -p spyre-simplify-functions --split-input-file | filecheck %s
// RUN: spyre-opt %s -p spyre-simplify-functions,spyre-simplify-functions --split-input-file | filecheck %s

// What changes no bit goes; a map that is left to copy its operand is its operand.

// CHECK-LABEL: @nothing
// CHECK-SAME:    (%[[X:.*]]: tensor<64xf16>)
// CHECK-NEXT:    func.return %[[X]]
func.func @nothing(%x: tensor<64xf16>) -> tensor<64xf16> {
  %0 = spyre.map %x {maps = [affine_map<(i) -> (i)>]} : (tensor<64xf16>) -> tensor<64xf16> {
  ^bb0(%a: f16):
    %one = spyre.constant 1.0 : f16 -> f16
    %zero = spyre.constant 0.0 : f16 -> f16
    %b = spyre.fn "mul"(%one, %a) : (f16, f16) -> f16
    %c = spyre.fn "div"(%b, %one) : (f16, f16) -> f16
    %d = spyre.fn "sub"(%c, %zero) : (f16, f16) -> f16
    %e = spyre.fn "cast"(%d) : (f16) -> f32
    %f = spyre.fn "cast"(%e) : (f32) -> f16
    %g = spyre.fn "neg"(%f) : (f16) -> f16
    %h = spyre.fn "neg"(%g) : (f16) -> f16
    %i = spyre.fn "identity"(%h) : (f16) -> f16
    %t = spyre.constant 1 : i1 -> i1
    %j = spyre.fn "where"(%t, %i, %zero) : (i1, f16, f16) -> f16
    spyre.yield %j : f16
  }
  func.return %0 : tensor<64xf16>
}

// -----

// Division by a power of two is a product with its exact reciprocal.

// CHECK-LABEL: @divide
// CHECK:         %[[C:.*]] = spyre.constant 1.250000e-01 : f16
// CHECK-NEXT:    spyre.fn "mul"(%{{.*}}, %[[C]])
func.func @divide(%x: tensor<64xf16>) -> tensor<64xf16> {
  %0 = spyre.map %x {maps = [affine_map<(i) -> (i)>]} : (tensor<64xf16>) -> tensor<64xf16> {
  ^bb0(%a: f16):
    %c = spyre.constant 8.0 : f16 -> f16
    %b = spyre.fn "div"(%a, %c) : (f16, f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : tensor<64xf16>
}

// -----

// A whole power is a product in f32, rounded once.

// CHECK-LABEL: @power
// CHECK:       ^bb0(%[[A:.*]]: f16):
// CHECK-NEXT:    %[[W:.*]] = spyre.fn "cast"(%[[A]]) : (f16) -> f32
// CHECK-NEXT:    %[[S:.*]] = spyre.fn "mul"(%[[W]], %[[W]]) : (f32, f32) -> f32
// CHECK-NEXT:    %[[P:.*]] = spyre.fn "mul"(%[[W]], %[[S]]) : (f32, f32) -> f32
// CHECK-NEXT:    %[[R:.*]] = spyre.fn "cast"(%[[P]]) : (f32) -> f16
// CHECK-NEXT:    spyre.yield %[[R]]
func.func @power(%x: tensor<64xf16>) -> tensor<64xf16> {
  %0 = spyre.map %x {maps = [affine_map<(i) -> (i)>]} : (tensor<64xf16>) -> tensor<64xf16> {
  ^bb0(%a: f16):
    %c = spyre.constant 3.0 : f16 -> f16
    %b = spyre.fn "pow"(%a, %c) : (f16, f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : tensor<64xf16>
}

// -----

// A map that yields a number is a full tensor.

// CHECK-LABEL: @number
// CHECK-NEXT:    spyre.full 1.000000e+00 : f16 -> tensor<64xf16>
func.func @number(%x: tensor<64xf16>) -> tensor<64xf16> {
  %0 = spyre.map %x {maps = [affine_map<(i) -> (i)>]} : (tensor<64xf16>) -> tensor<64xf16> {
  ^bb0(%a: f16):
    %c = spyre.constant 0.0 : f16 -> f16
    %b = spyre.fn "pow"(%a, %c) : (f16, f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : tensor<64xf16>
}

// -----

// Negative: x + 0 turns -0 into 0, a narrowing cast rounds, 1/3 is not exact, and a
// broken power is no product.

// CHECK-LABEL: @kept
// CHECK:         spyre.fn "add"
// CHECK:         spyre.fn "cast"({{.*}}) : (f16) -> bf16
// CHECK:         spyre.fn "cast"({{.*}}) : (bf16) -> f16
// CHECK:         spyre.fn "div"
// CHECK:         spyre.fn "pow"
func.func @kept(%x: tensor<64xf16>) -> tensor<64xf16> {
  %0 = spyre.map %x {maps = [affine_map<(i) -> (i)>]} : (tensor<64xf16>) -> tensor<64xf16> {
  ^bb0(%a: f16):
    %zero = spyre.constant 0.0 : f16 -> f16
    %three = spyre.constant 3.0 : f16 -> f16
    %half = spyre.constant 0.5 : f16 -> f16
    %b = spyre.fn "add"(%a, %zero) : (f16, f16) -> f16
    %c = spyre.fn "cast"(%b) : (f16) -> bf16
    %d = spyre.fn "cast"(%c) : (bf16) -> f16
    %e = spyre.fn "div"(%d, %three) : (f16, f16) -> f16
    %f = spyre.fn "pow"(%e, %half) : (f16, f16) -> f16
    spyre.yield %f : f16
  }
  func.return %0 : tensor<64xf16>
}
