// RUN: spyre-opt %s | filecheck %s
// RUN: spyre-opt %s | spyre-opt | filecheck %s
// RUN: spyre-opt %s --print-op-generic | spyre-opt | filecheck %s

// CHECK-LABEL: @functions
// CHECK-NEXT:    spyreop.fn "atan2"(%a, %b) : (f16, f32) -> f16
// CHECK-NEXT:    spyreop.addi32toi32 %i, %i
// CHECK-NEXT:    spyreop.addi64toi64 %j, %j
// CHECK-NEXT:    spyreop.muli32toi32 %i, %i
// CHECK-NEXT:    spyreop.exp %b : f32
// CHECK-NEXT:    spyreop.gelu %d : !spyreop.df16
// CHECK-NEXT:    spyreop.reciprocal %a : f16
// CHECK-NEXT:    spyreop.rsqrt %a : f16
// CHECK-NEXT:    spyreop.sqrt %a : f16
// CHECK-NEXT:    spyreop.sigmoid %a : f16
// CHECK-NEXT:    spyreop.silu %a : f16
// CHECK-NEXT:    spyreop.realdiv %a, %a : f16
// CHECK-NEXT:    spyreop.softplus %a beta 1.000000e+00 : f32 threshold 2.000000e+01 : f32 : f16
// CHECK-NEXT:    spyreop.idx32toaddr %i base %i stride %i
func.func @functions(%a: f16, %b: f32, %i: i32, %j: i64, %d: !spyreop.df16) {
  %0 = spyreop.fn "atan2"(%a, %b) : (f16, f32) -> f16
  %1 = spyreop.addi32toi32 %i, %i
  %2 = spyreop.addi64toi64 %j, %j
  %3 = spyreop.muli32toi32 %i, %i
  %4 = spyreop.exp %b : f32
  %5 = spyreop.gelu %d : !spyreop.df16
  %6 = spyreop.reciprocal %a : f16
  %7 = spyreop.rsqrt %a : f16
  %8 = spyreop.sqrt %a : f16
  %9 = spyreop.sigmoid %a : f16
  %10 = spyreop.silu %a : f16
  %11 = spyreop.realdiv %a, %a : f16
  %12 = spyreop.softplus %a beta 1.0 : f32 threshold 20.0 : f32 : f16
  %13 = spyreop.idx32toaddr %i base %i stride %i
  func.return
}

// CHECK-LABEL: @norms
// CHECK-NEXT:    %m, %q = spyreop.exx2 %a : f16
// CHECK-NEXT:    %p = spyreop.exx2_fused %a : f16 -> !spyreop.fp16_fused
// CHECK-NEXT:    spyreop.layernormscale %m squares %q : f16
// CHECK-NEXT:    spyreop.layernormscale_fused %p : !spyreop.fp16_fused -> f16
// CHECK-NEXT:    spyreop.layernormnorm %a squares %q scale %m weight %a bias %a : f16
// CHECK-NEXT:    spyreop.slice_reduction %t {reduction_kind = "add", reduction_scope = "in_slice"} : tensor<64xf16> -> tensor<64xf16>
func.func @norms(%a: f16, %t: tensor<64xf16>) {
  %m, %q = spyreop.exx2 %a : f16
  %p = spyreop.exx2_fused %a : f16 -> !spyreop.fp16_fused
  %0 = spyreop.layernormscale %m squares %q : f16
  %1 = spyreop.layernormscale_fused %p : !spyreop.fp16_fused -> f16
  %2 = spyreop.layernormnorm %a squares %q scale %m weight %a bias %a : f16
  %3 = spyreop.slice_reduction %t {reduction_kind = "add", reduction_scope = "in_slice"} : tensor<64xf16> -> tensor<64xf16>
  func.return
}
