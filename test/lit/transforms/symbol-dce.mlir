// RUN: spyre-opt %s -p spyre-symbol-dce | filecheck %s

// A private function goes with those that it alone calls, a circle of them too.

// CHECK-NOT:   @lonely
// CHECK-NOT:   @of_lonely
// CHECK-NOT:   @circle
// CHECK:       func.func private @used
// CHECK:       func.func @main
// CHECK:       func.func @public

func.func private @lonely() {
  func.call @of_lonely() : () -> ()
  func.call @used() : () -> ()
  func.return
}
func.func private @of_lonely() {
  func.return
}
func.func private @circle() {
  func.call @circle() : () -> ()
  func.return
}
func.func private @used() {
  func.return
}
func.func @main() {
  func.call @used() : () -> ()
  func.return
}
func.func @public() {
  func.return
}
