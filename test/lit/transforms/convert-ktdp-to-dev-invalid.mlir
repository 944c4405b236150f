// RUN: spyre-opt %s -p spyre-convert-ktdp-to-dev --split-input-file --verify-diagnostics -o /dev/null

// A tensor is used by one record.

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#id = affine_map<(d0) -> (d0)>
#global = #ktdp.memory_space<global>
#local = #ktdp.memory_space<ct_local>
!view = memref<4xf16, #spyre.layout<array<i64: 0, 0>>>
!tile = !ktdp.access_tile<4xindex>

// expected-error@+10 {{ktdp.load is not in staged form: it is used once, by the next store in its own loop}}
func.func private @bad(%s0: index) attributes {grid = array<i64: 1>} {
  %zero = arith.constant 0 : index
  %d = arith.constant 64 : index
  %a = ktdp.construct_memory_view %s0, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #global} : !view
  %ta = ktdp.construct_access_tile %a[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %b = ktdp.construct_memory_view %zero, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #local} : !view
  %tb = ktdp.construct_access_tile %b[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %c = ktdp.construct_memory_view %d, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #local} : !view
  %tc = ktdp.construct_access_tile %c[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %x = ktdp.load %ta : !tile -> tensor<4xf16>
  ktdp.store %x, %tb : tensor<4xf16>, !tile
  ktdp.store %x, %tc : tensor<4xf16>, !tile
  func.return
}

// -----

// Nothing is left between two stores.

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#id = affine_map<(d0) -> (d0)>
#global = #ktdp.memory_space<global>
#local = #ktdp.memory_space<ct_local>
!view = memref<4xf16, #spyre.layout<array<i64: 0, 0>>>
!tile = !ktdp.access_tile<4xindex>

// expected-error@+10 {{ktdp.load is not in staged form: the store that follows does not use it}}
func.func private @bad(%s0: index) attributes {grid = array<i64: 1>} {
  %zero = arith.constant 0 : index
  %d = arith.constant 64 : index
  %a = ktdp.construct_memory_view %s0, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #global} : !view
  %ta = ktdp.construct_access_tile %a[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %b = ktdp.construct_memory_view %zero, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #local} : !view
  %tb = ktdp.construct_access_tile %b[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %c = ktdp.construct_memory_view %d, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #local} : !view
  %tc = ktdp.construct_access_tile %c[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %y = ktdp.load %ta : !tile -> tensor<4xf16>
  %x = ktdp.load %ta : !tile -> tensor<4xf16>
  ktdp.store %x, %tb : tensor<4xf16>, !tile
  func.return
}

// -----

// A loop carries no tensor: an addition between loads and stores is none of a record's.

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#id = affine_map<(d0) -> (d0)>
#global = #ktdp.memory_space<global>
#local = #ktdp.memory_space<ct_local>
!view = memref<4xf16, #spyre.layout<array<i64: 0, 0>>>
!tile = !ktdp.access_tile<4xindex>

// expected-error@+11 {{arith.addf is not in staged form: it has no place in a staged kernel}}
func.func private @bad(%s0: index) attributes {grid = array<i64: 1>} {
  %zero = arith.constant 0 : index
  %d = arith.constant 64 : index
  %a = ktdp.construct_memory_view %s0, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #global} : !view
  %ta = ktdp.construct_access_tile %a[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %b = ktdp.construct_memory_view %zero, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #local} : !view
  %tb = ktdp.construct_access_tile %b[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %c = ktdp.construct_memory_view %d, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #local} : !view
  %tc = ktdp.construct_access_tile %c[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %x = ktdp.load %ta : !tile -> tensor<4xf16>
  %y = arith.addf %x, %x : tensor<4xf16>
  ktdp.store %y, %tb : tensor<4xf16>, !tile
  func.return
}

// -----

// Data does not go from DRAM to DRAM.

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#id = affine_map<(d0) -> (d0)>
#global = #ktdp.memory_space<global>
#local = #ktdp.memory_space<ct_local>
!view = memref<4xf16, #spyre.layout<array<i64: 0, 0>>>
!tile = !ktdp.access_tile<4xindex>

// expected-error@+11 {{ktdp.store is not in staged form: data goes from DRAM to DRAM through the scratchpad}}
func.func private @bad(%s0: index) attributes {grid = array<i64: 1>} {
  %zero = arith.constant 0 : index
  %d = arith.constant 64 : index
  %a = ktdp.construct_memory_view %s0, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #global} : !view
  %ta = ktdp.construct_access_tile %a[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %b = ktdp.construct_memory_view %zero, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #local} : !view
  %tb = ktdp.construct_access_tile %b[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %c = ktdp.construct_memory_view %d, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #local} : !view
  %tc = ktdp.construct_access_tile %c[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %x = ktdp.load %ta : !tile -> tensor<4xf16>
  ktdp.store %x, %ta : tensor<4xf16>, !tile
  func.return
}

// -----

// A tile is its whole view.

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#id = affine_map<(d0) -> (d0)>
#global = #ktdp.memory_space<global>
#local = #ktdp.memory_space<ct_local>
!view = memref<4xf16, #spyre.layout<array<i64: 0, 0>>>
!tile = !ktdp.access_tile<4xindex>

// expected-error@+10 {{ktdp.construct_access_tile is not in staged form: a tile begins where its view does}}
func.func private @bad(%s0: index) attributes {grid = array<i64: 1>} {
  %zero = arith.constant 0 : index
  %d = arith.constant 64 : index
  %a = ktdp.construct_memory_view %s0, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #global} : !view
  %ta = ktdp.construct_access_tile %a[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %b = ktdp.construct_memory_view %zero, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #local} : !view
  %tb = ktdp.construct_access_tile %b[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %c = ktdp.construct_memory_view %d, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #local} : !view
  %tc = ktdp.construct_access_tile %c[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %t = ktdp.construct_access_tile %a[%zero] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %x = ktdp.load %t : !tile -> tensor<4xf16>
  ktdp.store %x, %tb : tensor<4xf16>, !tile
  func.return
}

// -----

// A base in DRAM counts from one argument.

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#id = affine_map<(d0) -> (d0)>
#global = #ktdp.memory_space<global>
#local = #ktdp.memory_space<ct_local>
!view = memref<4xf16, #spyre.layout<array<i64: 0, 0>>>
!tile = !ktdp.access_tile<4xindex>

// expected-error@+10 {{ktdp.construct_memory_view is not in staged form: a base in DRAM counts from one argument, in LX none}}
func.func private @bad(%s0: index) attributes {grid = array<i64: 1>} {
  %zero = arith.constant 0 : index
  %d = arith.constant 64 : index
  %a = ktdp.construct_memory_view %s0, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #global} : !view
  %ta = ktdp.construct_access_tile %a[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %b = ktdp.construct_memory_view %zero, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #local} : !view
  %tb = ktdp.construct_access_tile %b[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %c = ktdp.construct_memory_view %d, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #local} : !view
  %tc = ktdp.construct_access_tile %c[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %e = ktdp.construct_memory_view %zero, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #global} : !view
  %te = ktdp.construct_access_tile %e[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %x = ktdp.load %te : !tile -> tensor<4xf16>
  ktdp.store %x, %tb : tensor<4xf16>, !tile
  func.return
}

// -----

// A compute reads the scratchpad.

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#id = affine_map<(d0) -> (d0)>
#global = #ktdp.memory_space<global>
#local = #ktdp.memory_space<ct_local>
!view = memref<4xf16, #spyre.layout<array<i64: 0, 0>>>
!tile = !ktdp.access_tile<4xindex>

// expected-error@+10 {{ktdp.load is not in staged form: a compute loads from the scratchpad}}
func.func private @bad(%s0: index) attributes {grid = array<i64: 1>} {
  %zero = arith.constant 0 : index
  %d = arith.constant 64 : index
  %a = ktdp.construct_memory_view %s0, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #global} : !view
  %ta = ktdp.construct_access_tile %a[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %b = ktdp.construct_memory_view %zero, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #local} : !view
  %tb = ktdp.construct_access_tile %b[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %c = ktdp.construct_memory_view %d, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #local} : !view
  %tc = ktdp.construct_access_tile %c[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %x = ktdp.load %ta : !tile -> tensor<4xf16>
  %e = tensor.empty() : tensor<4xf16>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xf16>) outs(%e : tensor<4xf16>) {
  ^bb0(%p: f16, %q: f16):
    linalg.yield %p : f16
  } -> tensor<4xf16>
  ktdp.store %y, %tb : tensor<4xf16>, !tile
  func.return
}

// -----

// A body has functions of the card.

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#id = affine_map<(d0) -> (d0)>
#global = #ktdp.memory_space<global>
#local = #ktdp.memory_space<ct_local>
!view = memref<4xf16, #spyre.layout<array<i64: 0, 0>>>
!tile = !ktdp.access_tile<4xindex>

// expected-error@+12 {{linalg.generic is not in staged form: math.sinh is no function of the card}}
func.func private @bad(%s0: index) attributes {grid = array<i64: 1>} {
  %zero = arith.constant 0 : index
  %d = arith.constant 64 : index
  %a = ktdp.construct_memory_view %s0, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #global} : !view
  %ta = ktdp.construct_access_tile %a[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %b = ktdp.construct_memory_view %zero, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #local} : !view
  %tb = ktdp.construct_access_tile %b[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %c = ktdp.construct_memory_view %d, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #local} : !view
  %tc = ktdp.construct_access_tile %c[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %x = ktdp.load %tb : !tile -> tensor<4xf16>
  %e = tensor.empty() : tensor<4xf16>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xf16>) outs(%e : tensor<4xf16>) {
  ^bb0(%p: f16, %q: f16):
    %r = math.sinh %p : f16
    linalg.yield %r : f16
  } -> tensor<4xf16>
  ktdp.store %y, %tc : tensor<4xf16>, !tile
  func.return
}

// -----

// What starts from nothing uses nothing.

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#id = affine_map<(d0) -> (d0)>
#global = #ktdp.memory_space<global>
#local = #ktdp.memory_space<ct_local>
!view = memref<4xf16, #spyre.layout<array<i64: 0, 0>>>
!tile = !ktdp.access_tile<4xindex>

// expected-error@+12 {{linalg.generic is not in staged form: without a fold it starts from nothing}}
func.func private @bad(%s0: index) attributes {grid = array<i64: 1>} {
  %zero = arith.constant 0 : index
  %d = arith.constant 64 : index
  %a = ktdp.construct_memory_view %s0, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #global} : !view
  %ta = ktdp.construct_access_tile %a[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %b = ktdp.construct_memory_view %zero, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #local} : !view
  %tb = ktdp.construct_access_tile %b[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %c = ktdp.construct_memory_view %d, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #local} : !view
  %tc = ktdp.construct_access_tile %c[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %x = ktdp.load %tb : !tile -> tensor<4xf16>
  %e = tensor.empty() : tensor<4xf16>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xf16>) outs(%e : tensor<4xf16>) {
  ^bb0(%p: f16, %q: f16):
    %r = arith.addf %p, %q : f16
    linalg.yield %r : f16
  } -> tensor<4xf16>
  ktdp.store %y, %tc : tensor<4xf16>, !tile
  func.return
}

// -----

// A loop counts from zero by one.

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#id = affine_map<(d0) -> (d0)>
#global = #ktdp.memory_space<global>
#local = #ktdp.memory_space<ct_local>
!view = memref<4xf16, #spyre.layout<array<i64: 0, 0>>>
!tile = !ktdp.access_tile<4xindex>

// expected-error@+10 {{scf.for is not in staged form: a loop counts from 0 by 1, not from 0 by 64}}
func.func private @bad(%s0: index) attributes {grid = array<i64: 1>} {
  %zero = arith.constant 0 : index
  %d = arith.constant 64 : index
  %a = ktdp.construct_memory_view %s0, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #global} : !view
  %ta = ktdp.construct_access_tile %a[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %b = ktdp.construct_memory_view %zero, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #local} : !view
  %tb = ktdp.construct_access_tile %b[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %c = ktdp.construct_memory_view %d, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #local} : !view
  %tc = ktdp.construct_access_tile %c[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  scf.for %i = %zero to %d step %d {
  %x = ktdp.load %ta : !tile -> tensor<4xf16>
  ktdp.store %x, %tb : tensor<4xf16>, !tile
  }
  func.return
}

// -----

// The digits are those of the grid.

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#id = affine_map<(d0) -> (d0)>
#global = #ktdp.memory_space<global>
#local = #ktdp.memory_space<ct_local>
!view = memref<4xf16, #spyre.layout<array<i64: 0, 0>>>
!tile = !ktdp.access_tile<4xindex>

// expected-error@+2 {{ktdp.get_compute_tile_id is not in staged form: the grid has 1 digits}}
func.func private @bad(%s0: index) attributes {grid = array<i64: 1>} {
  %i, %j = ktdp.get_compute_tile_id : index, index
  func.return
}

// -----

// Sums are f32.

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#id = affine_map<(d0) -> (d0)>
#global = #ktdp.memory_space<global>
#local = #ktdp.memory_space<ct_local>
!view = memref<4xf16, #spyre.layout<array<i64: 0, 0>>>
!tile = !ktdp.access_tile<4xindex>
#all = affine_map<(d0) -> ()>

// expected-error@+15 {{linalg.generic is not in staged form: it makes f32, not f16}}
func.func private @bad(%s0: index) attributes {grid = array<i64: 1>} {
  %zero = arith.constant 0 : index
  %d = arith.constant 64 : index
  %a = ktdp.construct_memory_view %s0, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #global} : !view
  %ta = ktdp.construct_access_tile %a[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %b = ktdp.construct_memory_view %zero, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #local} : !view
  %tb = ktdp.construct_access_tile %b[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %c = ktdp.construct_memory_view %d, sizes: [4], strides: [64] {coordinate_set = #box, memory_space = #local} : !view
  %tc = ktdp.construct_access_tile %c[0] {access_tile_set = #box, access_tile_order = #id} : !view -> !tile
  %x = ktdp.load %tb : !tile -> tensor<4xf16>
  %n = arith.constant -0.0 : f16
  %v = ktdp.construct_memory_view %d, sizes: [], strides: [] {coordinate_set = affine_set<() : ()>, memory_space = #local} : memref<f16>
  %t = ktdp.construct_access_tile %v[] {access_tile_set = affine_set<() : ()>, access_tile_order = affine_map<() -> ()>} : memref<f16> -> !ktdp.access_tile<index>
  %e = tensor.splat %n : tensor<f16>
  %y = linalg.generic {indexing_maps = [#id, #all], iterator_types = ["reduction"]} ins(%x : tensor<4xf16>) outs(%e : tensor<f16>) {
  ^bb0(%p: f16, %q: f16):
    %r = arith.addf %q, %p : f16
    linalg.yield %r : f16
  } -> tensor<f16>
  ktdp.store %y, %t : tensor<f16>, !ktdp.access_tile<index>
  func.return
}
