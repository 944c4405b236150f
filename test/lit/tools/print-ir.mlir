// RUN: spyre-opt %s -p cse,dce --mlir-print-ir-after-all -o /dev/null 2>&1 | filecheck %s --check-prefix ALL
// RUN: spyre-opt %s -p cse,dce --mlir-print-ir-before=dce -o /dev/null 2>&1 | filecheck %s --check-prefix BEFORE
// RUN: spyre-opt %s -p canonicalize,cse,cse --mlir-print-ir-after-change -o /dev/null 2>&1 | filecheck %s --check-prefix CHANGE
// RUN: spyre-opt %s -p cse --mlir-print-ir-tree-dir=%t && filecheck %s --check-prefix TREE < %t/01_cse.mlir
// RUN: filecheck %s --check-prefix INDEX < %t/index.json

// IR by pass goes to stderr; the module itself would be on stdout.

// ALL:     // ----- IR after cse -----
// ALL:     func.func @twice
// ALL:     // ----- IR after dce -----
// ALL:     func.func @twice

// BEFORE-NOT: IR after
// BEFORE:     // ----- IR before dce -----
// BEFORE:     func.func @twice

// The second cse changes nothing and is not printed.

// CHANGE-NOT: IR after canonicalize
// CHANGE:     // ----- IR after cse -----
// CHANGE:     func.func @twice
// CHANGE-NOT: IR after cse

// TREE-COUNT-1: spyre.reduce

// INDEX: "pass": "input"
// INDEX: "pass": "cse"
// INDEX: "file": "01_cse.mlir"
func.func @twice(%a: tensor<4x8xf16>) -> (tensor<4x1xf16>, tensor<4x1xf16>) {
  %0 = spyre.reduce "sum" %a {dims = array<i64: 1>} : tensor<4x8xf16> -> tensor<4x1xf16>
  %1 = spyre.reduce "sum" %a {dims = array<i64: 1>} : tensor<4x8xf16> -> tensor<4x1xf16>
  func.return %0, %1 : tensor<4x1xf16>, tensor<4x1xf16>
}
