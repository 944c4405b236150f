// RUN: spyre-run %s --on interpreter --random 3 --save %t.oracle --print | filecheck %s
// RUN: spyre-run %s --random 3 --save %t.card --emit %t.spyre | filecheck %s --check-prefix REPORT
// RUN: cmp %t.oracle/result_0.npy %t.card/result_0.npy
// RUN: spyre-run %t.spyre --random 3 --save %t.image --report none
// RUN: cmp %t.oracle/result_0.npy %t.image/result_0.npy
// RUN: spyre-opt %s --pipeline compile -o %t.dev.mlir
// RUN: spyre-run %t.dev.mlir --random 3 --save %t.dev --report json | filecheck %s --check-prefix JSON
// RUN: cmp %t.oracle/result_0.npy %t.dev/result_0.npy
// RUN: not spyre-run %s 2>&1 | filecheck %s --check-prefix MISSING

// The same seed gives the same bits from the interpreter, from the compiled module, from
// the image that this wrote, and from the lowered module.

// CHECK:   result 0: float16[4, 100]
// CHECK:   tensor(
// REPORT:  operation
// REPORT:  sfp
// REPORT:  device {{.*}} in 1 calls of 1 programs
// JSON:    "total_ps"
// MISSING: spyre-run: error: 0 inputs for 1 arguments; the next is tensor<4x100xf16>
// MISSING: note: give it by --input FILE.npy, or all that miss by --random SEED
func.func @main(%x: tensor<4x100xf16>) -> tensor<4x100xf16> {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>]} : (tensor<4x100xf16>) -> tensor<4x100xf16> {
  ^bb0(%a: f16):
    %b = spyre.fn "abs"(%a) : (f16) -> f16
    %c = spyre.fn "add"(%b, %a) : (f16, f16) -> f16
    spyre.yield %c : f16
  }
  func.return %0 : tensor<4x100xf16>
}
