// RUN: spyre-opt %s -p spyre-convert-ktdp-to-dev --split-input-file | filecheck %s

// A record per store, on the unit that its spaces say; without a stated size the
// scratchpad ends where the records do. Sets may be spelled in any way, addresses be
// composed of several affine.apply, and intrinsics be the public ones.

// CHECK:      dev.program attributes {sym_name = "doubled", grid = array<i64: 2>, symbols = 2 : i64, lx_bytes = 512 : i64, semaphores = array<i64: 0, 0, 2, 2>} {
// CHECK-NEXT:   dev.stream "load" {
// CHECK-NEXT:     dev.loop 3 : i64 {
// CHECK-NEXT:       dev.transfer {axes = [#dev.axis<320 : i64, 0 : i64, 192 : i64, 0 : i64, 64 : i64, 0 : i64>]
// CHECK-SAME:         source = #dev.access<"dram", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, 0 : i64, array<i64: 384>, array<i64: 128>, 1 : i64, 0 : i64, 0 : i64>
// CHECK-SAME:         target = #dev.access<"lx", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 2 : i64, 128 : i64, 1 : i64>
// CHECK:        dev.stream "store" {
// CHECK-NEXT:     dev.loop 3 : i64 {
// CHECK-NEXT:       dev.transfer
// CHECK:        dev.stream "sfp" {
// CHECK-NEXT:     dev.loop 3 : i64 {
// CHECK-NEXT:       dev.vector
// CHECK-SAME:         steps = [#dev.step<"exp", array<i64: 0>, "f16", array<i64>>, #dev.step<"constant", array<i64>, "f16", [2.000000e+00 : f64]>, #dev.step<"mul", array<i64: 1, 2>, "f16", array<i64>>]
#box = affine_set<(d0)[s0] : (s0 - d0 >= 1, d0 >= 0)>
#id = affine_map<(d0) -> (d0)>
#local = #ktdp.memory_space<ct_local>
!view = memref<?xf16, #spyre.layout<array<i64: 0, 0>>>
!tile = !ktdp.access_tile<?xindex>
func.func private @doubled(%x: index, %y: index) attributes {grid = array<i64: 2>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %core = ktdp.get_compute_tile_id : index
  scf.for %k = %c0 to %c3 step %c1 {
    %left = affine.min affine_map<(d, t) -> (64, 320 - 192 * d - 64 * t)> (%core, %k)
    %n = arith.maxsi %left, %c0 : index
    %row = affine.apply affine_map<(d, t) -> (d * 192 + t * 64)> (%core, %k)
    %from = affine.apply affine_map<(r)[s] -> (r + s)> (%row)[%x]
    %to = affine.apply affine_map<(r)[s] -> (r + s)> (%row)[%y]
    %slot = affine.apply affine_map<(t) -> ((t mod 2) * 64)> (%k)
    %made = affine.apply affine_map<(t) -> (128 + (t mod 2) * 64)> (%k)
    %a = ktdp.construct_memory_view %from, sizes: [%n], strides: [64] {coordinate_set = #box, memory_space = #ktdp.memory_space<global>} : !view
    %b = ktdp.construct_memory_view %slot, sizes: [%n], strides: [64] {coordinate_set = #box, memory_space = #local} : !view
    %c = ktdp.construct_memory_view %made, sizes: [%n], strides: [64] {coordinate_set = #box, memory_space = #local} : !view
    %d = ktdp.construct_memory_view %to, sizes: [%n], strides: [64] {coordinate_set = #box, memory_space = #ktdp.memory_space<global>} : !view
    %ta = ktdp.construct_access_tile %a[0] symbols(%n) {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
    %tb = ktdp.construct_access_tile %b[0] symbols(%n) {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
    %tc = ktdp.construct_access_tile %c[0] symbols(%n) {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
    %td = ktdp.construct_access_tile %d[0] symbols(%n) {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
    %0 = ktdp.load %ta : !tile -> tensor<?xf16>
    ktdp.store %0, %tb : tensor<?xf16>, !tile
    %1 = ktdp.load %tb : !tile -> tensor<?xf16>
    %e = tensor.empty(%n) : tensor<?xf16>
    %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%1 : tensor<?xf16>) outs(%e : tensor<?xf16>) {
    ^bb0(%p: f16, %q: f16):
      %r = spyreop.exp %p : f16
      %two = arith.constant 2.0 : f16
      %s = arith.mulf %r, %two : f16
      linalg.yield %s : f16
    } -> tensor<?xf16>
    ktdp.store %2, %tc : tensor<?xf16>, !tile
    %3 = ktdp.load %tc : !tile -> tensor<?xf16>
    ktdp.store %3, %td : tensor<?xf16>, !tile
  }
  func.return
}

// -----

// A kernel of tensors is left to the pass before, and so is other code.

// CHECK-LABEL: func.func private @tensors
// CHECK-LABEL: func.func @main
func.func private @tensors(%x: tensor<4xf16>) -> tensor<4xf16> attributes {grid = array<i64: 1>} {
  %0 = spyre.map %x {maps = [affine_map<(a) -> (a)>]} : (tensor<4xf16>) -> tensor<4xf16> {
  ^bb0(%p: f16):
    spyre.yield %p : f16
  }
  func.return %0 : tensor<4xf16>
}
func.func @main(%x: index) {
  func.return
}
