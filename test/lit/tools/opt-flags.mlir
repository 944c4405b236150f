// RUN: spyre-opt %s --print-debuginfo --verify-roundtrip | filecheck %s
// RUN: spyre-opt %s --chip spyre --set cores=8 --pipeline plan | filecheck %s --check-prefix CHIP
// RUN: not spyre-opt %s --set cores=0 2>&1 | filecheck %s --check-prefix SET
// RUN: not spyre-opt %s --set core_clock_hz=inf 2>&1 | filecheck %s --check-prefix WHOLE
// RUN: not spyre-opt %s --set pt_rows_exponent=nan 2>&1 | filecheck %s --check-prefix NAN
// RUN: not spyre-opt %s --set dram_bytes=1 2>&1 | filecheck %s --check-prefix DRAM
// RUN: not spyre-opt %s --mlir-print-ir-after=spyre-fuse-map 2>&1 | filecheck %s --check-prefix NAME
// RUN: not spyre-opt %s --mlir-pass-pipeline-crash-reproducer=%t.mlir -p cse,spyre-materialize-groups,spyre-convert-ktdp-to-dev 2>/dev/null
// RUN: filecheck %s --check-prefix REPRO --input-file %t.mlir
// RUN: not spyre-opt %s --mlir-pass-pipeline-crash-reproducer=%t.local.mlir --mlir-pass-pipeline-local-reproducer -p cse,spyre-materialize-groups 2>/dev/null
// RUN: filecheck %s --check-prefix LOCAL --input-file %t.local.mlir
// RUN: not spyre-opt %t.local.mlir -p spyre-materialize-groups 2>&1 | filecheck %s --check-prefix AGAIN

// A location that is unknown stays so.

// CHECK: spyre.full 1.000000e+00 : f16 -> tensor<4x64xf16> loc(unknown)
// CHECK: spyre.full 2.000000e+00 : f16 -> tensor<4x64xf16> loc("model.py":3:2)
// CHIP:  spyre.chip = "spyre,cores=8"
// CHIP:  division = #spyre.division<array<i64: 4, 1>
// SET:   cores is 0; it must be above 0
// WHOLE: core_clock_hz is a whole number, not inf
// NAN:   pt_rows_exponent is nan; it must be from 0
// DRAM:  dram_bytes is 1, no whole sticks of 128 bytes
// NAME:  no pass is called "spyre-fuse-map"; there is spyre-fuse-maps
// REPRO: // R{{U}}N: spyre-opt %s -p 'cse,spyre-materialize-groups,spyre-convert-ktdp-to-dev'
// REPRO: "spyre.full"() {{.*}} loc("model.py":3:2)
// LOCAL: // R{{U}}N: spyre-opt %s -p 'spyre-materialize-groups'
// AGAIN: has no layout; run spyre-plan-layouts first

func.func @main() -> (tensor<4x64xf16>, tensor<4x64xf16>) {
  %0 = spyre.full 1.0 : f16 -> tensor<4x64xf16> loc(unknown)
  %1 = spyre.full 2.0 : f16 -> tensor<4x64xf16> loc("model.py":3:2)
  func.return %0, %1 : tensor<4x64xf16>, tensor<4x64xf16>
}
