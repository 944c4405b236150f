// RUN: spyre-run %s --memory 'tensor<2x64xf16>' --memory 'tensor<2x64xf16>' --random 1 --print --on interpreter | filecheck %s
// RUN: not spyre-run %s --memory 'tensor<2x64xf16>' --memory 'tensor<2x64xf16>' 2>&1 | filecheck %s --check-prefix CARD
// RUN: not spyre-run %s --on interpreter --emit %t.spyre --memory 'tensor<2x64xf16>' --memory 'tensor<2x64xf16>' 2>&1 | filecheck %s --check-prefix EMIT

// A kernel on addresses: each is a region of DRAM. This one copies. It is not in the
// staged form that the card runs, and is refused there.

// CARD: spyre-run: error: {{.*}} is not in staged form
// CARD: note: from run-ktdp.mlir:
// EMIT: nothing that ran has an image

// CHECK: memory 0: float16[2, 64]
// CHECK: tensor({{\[\[}}[[FIRST:.*]],
// CHECK: memory 1: float16[2, 64]
// CHECK: tensor({{\[\[}}[[FIRST]],

#box = affine_set<(d0, d1) : (d0 >= 0, -d0 + 1 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#same = affine_map<(d0, d1) -> (d0, d1)>

func.func @copy(%from: index, %to: index) attributes {grid = [1]} {
  %c0 = arith.constant 0 : index
  %a = ktdp.construct_memory_view %from, sizes: [2, 64], strides: [64, 1] {
    coordinate_set = #box, memory_space = #ktdp.memory_space<global>
  } : memref<2x64xf16>
  %b = ktdp.construct_memory_view %to, sizes: [2, 64], strides: [64, 1] {
    coordinate_set = #box, memory_space = #ktdp.memory_space<global>
  } : memref<2x64xf16>
  %source = ktdp.construct_access_tile %a[%c0, %c0] {
    access_tile_set = #box, access_tile_order = #same
  } : memref<2x64xf16> -> !ktdp.access_tile<2x64xindex>
  %target = ktdp.construct_access_tile %b[%c0, %c0] {
    access_tile_set = #box, access_tile_order = #same
  } : memref<2x64xf16> -> !ktdp.access_tile<2x64xindex>
  %x = ktdp.load %source : !ktdp.access_tile<2x64xindex> -> tensor<2x64xf16>
  ktdp.store %x, %target : tensor<2x64xf16>, !ktdp.access_tile<2x64xindex>
  func.return
}
