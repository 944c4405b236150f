// RUN: spyre-opt %s -p spyre-outline-repeats --split-input-file | filecheck %s
// RUN: spyre-opt %s -p spyre-outline-repeats,spyre-outline-repeats --split-input-file | filecheck %s
// RUN: spyre-opt %s -p spyre-outline-repeats --split-input-file --mlir-print-debuginfo | filecheck %s --check-prefix LOC

// Three alike blocks, each on the result of the one before, are three calls of one
// function; weights become arguments.

// CHECK-LABEL: @blocks
// CHECK-SAME:    (%[[X:.*]]: tensor<8x16xf16>, %[[W0:.*]]: tensor<16x16xf16>, %[[W1:.*]]: tensor<16x16xf16>, %[[W2:.*]]: tensor<16x16xf16>, %[[W3:.*]]: tensor<16x16xf16>, %[[W4:.*]]: tensor<16x16xf16>, %[[W5:.*]]: tensor<16x16xf16>)
// CHECK-NEXT:    %[[Y:.*]] = func.call @layer_0(%[[X]], %[[W0]], %[[W1]])
// CHECK-NEXT:    %[[Z:.*]] = func.call @layer_0(%[[Y]], %[[W2]], %[[W3]])
// CHECK-NEXT:    %[[R:.*]] = func.call @layer_0(%[[Z]], %[[W4]], %[[W5]])
// CHECK-NEXT:    func.return %[[R]]
// CHECK:       func.func private @layer_0
// CHECK:         spyre.matmul
// CHECK:         spyre.matmul
// CHECK-NOT:     spyre.matmul

// Each call has the lines of its own operations, in the order of the function's.

// LOC-LABEL: @blocks
// LOC:         func.call @layer_0{{.*}} loc(fused<"outlined">["model.py":1:1, {{.*}}, "model.py":2:1, {{.*}}])
// LOC:         func.call @layer_0{{.*}} loc(fused<"outlined">["model.py":11:1, {{.*}}, "model.py":12:1, {{.*}}])
func.func @blocks(%x: tensor<8x16xf16>, %w0: tensor<16x16xf16>, %w1: tensor<16x16xf16>, %w2: tensor<16x16xf16>, %w3: tensor<16x16xf16>, %w4: tensor<16x16xf16>, %w5: tensor<16x16xf16>) -> tensor<8x16xf16> {
  %a0 = spyre.matmul %x, %w0 {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : tensor<8x16xf16>, tensor<16x16xf16> -> tensor<8x16xf16> loc("model.py":1:1)
  %b0 = spyre.map %a0, %x {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]}
    : (tensor<8x16xf16>, tensor<8x16xf16>) -> tensor<8x16xf16> {
  ^bb0(%a: f16, %b: f16):
    %c = spyre.fn "mul"(%a, %b) : (f16, f16) -> f16
    spyre.yield %c : f16
  }
  %c0 = spyre.matmul %b0, %w1 {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : tensor<8x16xf16>, tensor<16x16xf16> -> tensor<8x16xf16> loc("model.py":2:1)
  %d0 = spyre.map %c0, %x {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]}
    : (tensor<8x16xf16>, tensor<8x16xf16>) -> tensor<8x16xf16> {
  ^bb0(%a: f16, %b: f16):
    %c = spyre.fn "add"(%a, %b) : (f16, f16) -> f16
    spyre.yield %c : f16
  }
  %a1 = spyre.matmul %d0, %w2 {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : tensor<8x16xf16>, tensor<16x16xf16> -> tensor<8x16xf16> loc("model.py":11:1)
  %b1 = spyre.map %a1, %d0 {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]}
    : (tensor<8x16xf16>, tensor<8x16xf16>) -> tensor<8x16xf16> {
  ^bb0(%a: f16, %b: f16):
    %c = spyre.fn "mul"(%a, %b) : (f16, f16) -> f16
    spyre.yield %c : f16
  }
  %c1 = spyre.matmul %b1, %w3 {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : tensor<8x16xf16>, tensor<16x16xf16> -> tensor<8x16xf16> loc("model.py":12:1)
  %d1 = spyre.map %c1, %d0 {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]}
    : (tensor<8x16xf16>, tensor<8x16xf16>) -> tensor<8x16xf16> {
  ^bb0(%a: f16, %b: f16):
    %c = spyre.fn "add"(%a, %b) : (f16, f16) -> f16
    spyre.yield %c : f16
  }
  %a2 = spyre.matmul %d1, %w4 {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : tensor<8x16xf16>, tensor<16x16xf16> -> tensor<8x16xf16> loc("model.py":21:1)
  %b2 = spyre.map %a2, %d1 {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]}
    : (tensor<8x16xf16>, tensor<8x16xf16>) -> tensor<8x16xf16> {
  ^bb0(%a: f16, %b: f16):
    %c = spyre.fn "mul"(%a, %b) : (f16, f16) -> f16
    spyre.yield %c : f16
  }
  %c2 = spyre.matmul %b2, %w5 {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : tensor<8x16xf16>, tensor<16x16xf16> -> tensor<8x16xf16> loc("model.py":22:1)
  %d2 = spyre.map %c2, %d1 {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]}
    : (tensor<8x16xf16>, tensor<8x16xf16>) -> tensor<8x16xf16> {
  ^bb0(%a: f16, %b: f16):
    %c = spyre.fn "add"(%a, %b) : (f16, f16) -> f16
    spyre.yield %c : f16
  }
  func.return %d2 : tensor<8x16xf16>
}

// -----

// What all blocks share, made in the first, is moved in front of them; what needs no
// operand is made in the function.

// CHECK-LABEL: @shared
// CHECK-NEXT:    %[[S:.*]] = spyre.map
// CHECK:         func.call @layer_0
// CHECK:         func.call @layer_0
// CHECK-NOT:     spyre.full
// CHECK:       func.func private @layer_0
// CHECK-NEXT:    spyre.full
func.func @shared(%x: tensor<8x16xf16>, %w0: tensor<16x16xf16>, %w1: tensor<16x16xf16>, %w2: tensor<16x16xf16>, %w3: tensor<16x16xf16>) -> tensor<8x16xf16> {
  %a0 = spyre.matmul %x, %w0 {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : tensor<8x16xf16>, tensor<16x16xf16> -> tensor<8x16xf16>
  %m = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>]} : (tensor<8x16xf16>) -> tensor<8x16xf16> {
  ^bb0(%a: f16):
    %b = spyre.fn "neg"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %f = spyre.full 2.0 : f16 -> tensor<8x16xf16>
  %b0 = spyre.map %a0, %m {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]}
    : (tensor<8x16xf16>, tensor<8x16xf16>) -> tensor<8x16xf16> {
  ^bb0(%a: f16, %b: f16):
    %c = spyre.fn "mul"(%a, %b) : (f16, f16) -> f16
    spyre.yield %c : f16
  }
  %c0 = spyre.matmul %b0, %w1 {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : tensor<8x16xf16>, tensor<16x16xf16> -> tensor<8x16xf16>
  %d0 = spyre.map %c0, %f {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]}
    : (tensor<8x16xf16>, tensor<8x16xf16>) -> tensor<8x16xf16> {
  ^bb0(%a: f16, %b: f16):
    %c = spyre.fn "add"(%a, %b) : (f16, f16) -> f16
    spyre.yield %c : f16
  }
  %a1 = spyre.matmul %d0, %w2 {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : tensor<8x16xf16>, tensor<16x16xf16> -> tensor<8x16xf16>
  %b1 = spyre.map %a1, %m {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]}
    : (tensor<8x16xf16>, tensor<8x16xf16>) -> tensor<8x16xf16> {
  ^bb0(%a: f16, %b: f16):
    %c = spyre.fn "mul"(%a, %b) : (f16, f16) -> f16
    spyre.yield %c : f16
  }
  %c1 = spyre.matmul %b1, %w3 {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : tensor<8x16xf16>, tensor<16x16xf16> -> tensor<8x16xf16>
  %d1 = spyre.map %c1, %f {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]}
    : (tensor<8x16xf16>, tensor<8x16xf16>) -> tensor<8x16xf16> {
  ^bb0(%a: f16, %b: f16):
    %c = spyre.fn "add"(%a, %b) : (f16, f16) -> f16
    spyre.yield %c : f16
  }
  func.return %d1 : tensor<8x16xf16>
}

// -----

// Negative: blocks that differ in a function are no repeats.

// CHECK-LABEL: @different
// CHECK-NOT:     func.call
func.func @different(%x: tensor<8x16xf16>, %w0: tensor<16x16xf16>, %w1: tensor<16x16xf16>, %w2: tensor<16x16xf16>, %w3: tensor<16x16xf16>) -> tensor<8x16xf16> {
  %a0 = spyre.matmul %x, %w0 {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : tensor<8x16xf16>, tensor<16x16xf16> -> tensor<8x16xf16> loc("model.py":1:1)
  %b0 = spyre.map %a0, %x {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]}
    : (tensor<8x16xf16>, tensor<8x16xf16>) -> tensor<8x16xf16> {
  ^bb0(%a: f16, %b: f16):
    %c = spyre.fn "mul"(%a, %b) : (f16, f16) -> f16
    spyre.yield %c : f16
  }
  %c0 = spyre.matmul %b0, %w1 {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : tensor<8x16xf16>, tensor<16x16xf16> -> tensor<8x16xf16> loc("model.py":2:1)
  %d0 = spyre.map %c0, %x {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]}
    : (tensor<8x16xf16>, tensor<8x16xf16>) -> tensor<8x16xf16> {
  ^bb0(%a: f16, %b: f16):
    %c = spyre.fn "add"(%a, %b) : (f16, f16) -> f16
    spyre.yield %c : f16
  }
  %a1 = spyre.matmul %d0, %w2 {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : tensor<8x16xf16>, tensor<16x16xf16> -> tensor<8x16xf16> loc("model.py":11:1)
  %b1 = spyre.map %a1, %d0 {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]}
    : (tensor<8x16xf16>, tensor<8x16xf16>) -> tensor<8x16xf16> {
  ^bb0(%a: f16, %b: f16):
    %c = spyre.fn "mul"(%a, %b) : (f16, f16) -> f16
    spyre.yield %c : f16
  }
  %c1 = spyre.matmul %b1, %w3 {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : tensor<8x16xf16>, tensor<16x16xf16> -> tensor<8x16xf16> loc("model.py":12:1)
  %d1 = spyre.map %c1, %d0 {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>]}
    : (tensor<8x16xf16>, tensor<8x16xf16>) -> tensor<8x16xf16> {
  ^bb0(%a: f16, %b: f16):
    %c = spyre.fn "sub"(%a, %b) : (f16, f16) -> f16
    spyre.yield %c : f16
  }
  func.return %d1 : tensor<8x16xf16>
}

// -----

// Negative: one product alone is not worth a function.

// CHECK-LABEL: @light
// CHECK-NOT:     func.call
func.func @light(%x: tensor<8x16xf16>, %w0: tensor<16x16xf16>, %w1: tensor<16x16xf16>) -> tensor<8x16xf16> {
  %a = spyre.matmul %x, %w0 {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : tensor<8x16xf16>, tensor<16x16xf16> -> tensor<8x16xf16>
  %b = spyre.matmul %a, %w1 {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : tensor<8x16xf16>, tensor<16x16xf16> -> tensor<8x16xf16>
  func.return %b : tensor<8x16xf16>
}

// -----

// What is static in every copy is static in the function; a value that is computed for
// one of the copies is not.

// CHECK-LABEL: @weights
// CHECK:       func.func private @layer_0
// CHECK-SAME:    (%{{.*}}: tensor<8x16xf16>, %{{.*}}: tensor<16x16xf16> {spyre.static}, %{{.*}}: tensor<16x16xf16>)
func.func @weights(%x: tensor<8x16xf16>, %w0: tensor<16x16xf16> {spyre.static}, %w1: tensor<16x16xf16> {spyre.static}, %v: tensor<16x16xf16>) -> tensor<8x16xf16> {
  %a0 = spyre.matmul %x, %w0 {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : tensor<8x16xf16>, tensor<16x16xf16> -> tensor<8x16xf16>
  %b0 = spyre.matmul %a0, %w0 {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : tensor<8x16xf16>, tensor<16x16xf16> -> tensor<8x16xf16>
  %c0 = spyre.map %b0 {maps = [affine_map<(i, j) -> (i, j)>]} : (tensor<8x16xf16>) -> tensor<8x16xf16> {
  ^bb0(%a: f16):
    %c = spyre.fn "relu"(%a) : (f16) -> f16
    spyre.yield %c : f16
  }
  %a1 = spyre.matmul %c0, %w1 {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : tensor<8x16xf16>, tensor<16x16xf16> -> tensor<8x16xf16>
  %b1 = spyre.matmul %a1, %v {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : tensor<8x16xf16>, tensor<16x16xf16> -> tensor<8x16xf16>
  %c1 = spyre.map %b1 {maps = [affine_map<(i, j) -> (i, j)>]} : (tensor<8x16xf16>) -> tensor<8x16xf16> {
  ^bb0(%a: f16):
    %c = spyre.fn "relu"(%a) : (f16) -> f16
    spyre.yield %c : f16
  }
  func.return %c1 : tensor<8x16xf16>
}
