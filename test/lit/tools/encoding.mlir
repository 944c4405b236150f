// RUN: env PYTHONIOENCODING=ascii spyre-opt %s > %t.ascii.mlir
// RUN: filecheck %s --input-file %t.ascii.mlir
// RUN: spyre-opt %t.ascii.mlir | filecheck %s --check-prefix BACK
// RUN: env PYTHONIOENCODING=ascii spyre-opt - < %s | filecheck %s
// RUN: env PYTHONIOENCODING=ascii spyre-run %s --random 0 | filecheck %s --check-prefix TABLE

// Where the output has no Unicode, strings carry their bytes and tables plain lines.

// CHECK: name = "caf\C3\A9"
// BACK:  name = "caf{{é|\\C3\\A9}}"
// TABLE: -----
// TABLE: device

func.func @main(%x: tensor<4x64xf16>) -> tensor<4x64xf16> attributes {name = "café"} {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>]} : (tensor<4x64xf16>) -> tensor<4x64xf16> {
  ^bb0(%a: f16):
    %b = spyre.fn "abs"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : tensor<4x64xf16>
}
