// RUN: spyre-opt %s -cse --mlir-timing --mlir-timing-display=json -o /dev/null 2>&1 | filecheck %s
// RUN: spyre-opt %s -cse --mlir-timing -o /dev/null 2>&1 | filecheck %s --check-prefix TABLE

// Time by pass goes to stderr, as a table or as JSON.

// CHECK:      "pass": "cse"
// CHECK-NEXT: "seconds":
// CHECK-NEXT: "verifier_seconds":
// CHECK:      "total_seconds":

// TABLE: time by pass
// TABLE: cse
// TABLE: total
func.func @empty() {
  func.return
}
