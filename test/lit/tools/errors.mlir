// RUN: not spyre-opt %s --split-input-file 2>&1 | filecheck %s
// RUN: not spyre-opt %s --split-input-file -o %t.never 2>/dev/null
// RUN: not spyre-opt %s --split-input-file --verify-diagnostics 2>&1 | filecheck %s --check-prefix UNMATCHED
// RUN: not spyre-opt %t.missing 2>&1 | filecheck %s --check-prefix MISSING
// RUN: printf '\200\201' > %t.binary
// RUN: not spyre-opt %t.binary 2>&1 | filecheck %s --check-prefix BINARY
// RUN: not spyre-run %t.binary 2>&1 | filecheck %s --check-prefix BINARY
// RUN: spyre-opt - -p cse < %S/timing.mlir | filecheck %s --check-prefix STDIN

// Good parts of a split file are printed, bad ones reported at their line; each sets
// the exit code.

// CHECK:      errors.mlir:29:3: error: 'spyre.full' 0 : i64 is no element of tensor<4x8xf16>
// CHECK-NEXT: note: see the operation: %0 = spyre.full
// CHECK:      func.func @good

// UNMATCHED: errors.mlir:29: error: unexpected error: {{.*}}
// UNMATCHED: errors.mlir:{{[0-9]+}}: error: expected error "nothing is wrong here" was not produced
// MISSING: spyre-opt: error: {{.*}}.missing: No such file or directory
// BINARY: error: {{.*}}.binary: this is no IR text
// STDIN: func.func @empty
func.func @good() {
  func.return
}

// -----

func.func @bad() {
  %0 = "spyre.full"() {value = 0 : i64} : () -> tensor<4x8xf16>
  func.return
}

// -----

// expected-error@+1 {{nothing is wrong here}}
func.func @fine() {
  func.return
}
