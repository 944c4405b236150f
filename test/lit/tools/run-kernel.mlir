// RUN: spyre-run %s --memory 'tensor<8x64xf16>' --memory 'tensor<8x64xf16>' --random 1 --compare | filecheck %s
// RUN: not spyre-run %s --grid 1 --memory 'tensor<8x64xf16>' --memory 'tensor<4x64xf16>' --memory 'tensor<4x64xf16>' --entry double --compare --random 1 --report none 2>&1 | filecheck %s --check-prefix ONE
// RUN: not spyre-run %s --scalar 0 --memory 'tensor<8x64xf16>' 2>&1 | filecheck %s --check-prefix SCALAR
// RUN: not spyre-run %s --input x.npy 2>&1 | filecheck %s --check-prefix INPUT

// A staged kernel runs on the card and in the interpreter; each of two cores doubles
// four rows.

// CHECK: device {{.*}} in 1 calls of 1 programs
// CHECK: memory 0: the same
// CHECK: memory 1: the same
// SCALAR: programs of the card take addresses: --memory, not --scalar
// INPUT: a kernel takes addresses: --memory, not --input

// ONE: "double" has 2 symbols, not 3

#rows = affine_set<(d0, d1) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#same = affine_map<(d0, d1) -> (d0, d1)>
#origin = affine_map<() -> (0, 0)>

func.func @double(%from: index, %to: index) attributes {grid = [2]} {
  %core = ktdp.get_compute_tile_id : index
  %source = affine.apply affine_map<(d0)[s0] -> (s0 + d0 * 256)> (%core)[%from]
  %target = affine.apply affine_map<(d0)[s0] -> (s0 + d0 * 256)> (%core)[%to]
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %a = ktdp.construct_memory_view %source, sizes: [4, 64], strides: [64, 64] {
    memory_space = #ktdp.memory_space<global>
  } : memref<4x64xf16, #spyre.layout<array<i64: 1, 0, 1>>>
  %b = ktdp.construct_memory_view %c0, sizes: [4, 64], strides: [64, 64] {
    memory_space = #ktdp.memory_space<ct_local>
  } : memref<4x64xf16, #spyre.layout<array<i64: 1, 0, 1>>>
  %c = ktdp.construct_memory_view %c256, sizes: [4, 64], strides: [64, 64] {
    memory_space = #ktdp.memory_space<ct_local>
  } : memref<4x64xf16, #spyre.layout<array<i64: 1, 0, 1>>>
  %d = ktdp.construct_memory_view %target, sizes: [4, 64], strides: [64, 64] {
    memory_space = #ktdp.memory_space<global>
  } : memref<4x64xf16, #spyre.layout<array<i64: 1, 0, 1>>>
  %ta = ktdp.construct_access_tile %a[0, 0] {
    access_tile_set = #rows, access_tile_order = #same
  } : memref<4x64xf16, #spyre.layout<array<i64: 1, 0, 1>>> -> !ktdp.access_tile<4x64xindex>
  %tb = ktdp.construct_access_tile %b[0, 0] {
    access_tile_set = #rows, access_tile_order = #same
  } : memref<4x64xf16, #spyre.layout<array<i64: 1, 0, 1>>> -> !ktdp.access_tile<4x64xindex>
  %tc = ktdp.construct_access_tile %c[0, 0] {
    access_tile_set = #rows, access_tile_order = #same
  } : memref<4x64xf16, #spyre.layout<array<i64: 1, 0, 1>>> -> !ktdp.access_tile<4x64xindex>
  %td = ktdp.construct_access_tile %d[0, 0] {
    access_tile_set = #rows, access_tile_order = #same
  } : memref<4x64xf16, #spyre.layout<array<i64: 1, 0, 1>>> -> !ktdp.access_tile<4x64xindex>
  %x = ktdp.load %ta : !ktdp.access_tile<4x64xindex> -> tensor<4x64xf16>
  ktdp.store %x, %tb : tensor<4x64xf16>, !ktdp.access_tile<4x64xindex>
  %y = ktdp.load %tb : !ktdp.access_tile<4x64xindex> -> tensor<4x64xf16>
  %e = tensor.empty() : tensor<4x64xf16>
  %z = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<4x64xf16>) outs(%e : tensor<4x64xf16>) {
  ^bb0(%p: f16, %q: f16):
    %s = arith.addf %p, %p : f16
    linalg.yield %s : f16
  } -> tensor<4x64xf16>
  ktdp.store %z, %tc : tensor<4x64xf16>, !ktdp.access_tile<4x64xindex>
  %w = ktdp.load %tc : !ktdp.access_tile<4x64xindex> -> tensor<4x64xf16>
  ktdp.store %w, %td : tensor<4x64xf16>, !ktdp.access_tile<4x64xindex>
  func.return
}
