// RUN: spyre-opt %s | filecheck %s
// RUN: spyre-opt %s | spyre-opt | filecheck %s
// RUN: spyre-opt %s --print-op-generic | spyre-opt | filecheck %s

#rows = affine_set<(d0, d1) : (d0 >= 0, -d0 + 31 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#some = affine_set<(d0, d1)[s0] : (d0 >= 0, -d0 + s0 - 1 >= 0, d1 >= 0, -d1 + 63 >= 0)>
#same = affine_map<(d0, d1) -> (d0, d1)>
#swap = affine_map<(d0, d1) -> (d1, d0)>

// Coordinates in the grid, one per dimension.

// CHECK-LABEL: @where_am_i
// CHECK-NEXT:    %x, %y = ktdp.get_compute_tile_id : index, index
func.func @where_am_i() {
  %x, %y = ktdp.get_compute_tile_id : index, index
  func.return
}

// Both spellings of a memory space, static and dynamic sizes, a stick layout.

// CHECK-LABEL: @views
// CHECK:         ktdp.construct_memory_view %base, sizes: [32, 64], strides: [64, 1] {coordinate_set = {{.*}}, memory_space = #ktdp.memory_space<global>} : memref<32x64xf16>
// CHECK-NEXT:    ktdp.construct_memory_view %base, sizes: [%n, 64], strides: [%n, 1] {coordinate_set = affine_set<(d0, d1)[s0] : {{.*}}>, memory_space = #ktdp.memory_space<ct_local, ct_id = 3>} : memref<?x64xf16>
// CHECK-NEXT:    ktdp.construct_memory_view {{.*}} memory_space = #ktdp.spyre_memory_space<HBM>}
// CHECK-NEXT:    ktdp.construct_memory_view {{.*}} memory_space = #ktdp.spyre_memory_space<LX, core = 7>}
// CHECK-NEXT:    ktdp.construct_memory_view {{.*}} strides: [64, 2048] {{.*}} memory_space = #ktdp.spyre_memory_space<unspecified>} : memref<32x64xf16, #spyre.layout<array<i64: 1, 0, 1>>>
func.func @views(%base: index, %n: index) {
  %0 = ktdp.construct_memory_view %base, sizes: [32, 64], strides: [64, 1] {
    coordinate_set = #rows, memory_space = #ktdp.memory_space<global>
  } : memref<32x64xf16>
  %1 = ktdp.construct_memory_view %base, sizes: [%n, 64], strides: [%n, 1] {
    coordinate_set = #some, memory_space = #ktdp.memory_space<ct_local, ct_id = 3>
  } : memref<?x64xf16>
  %2 = ktdp.construct_memory_view %base, sizes: [32, 64], strides: [64, 1] {
    coordinate_set = #rows, memory_space = #ktdp.spyre_memory_space<HBM>
  } : memref<32x64xf16>
  %3 = ktdp.construct_memory_view %base, sizes: [32, 64], strides: [64, 1] {
    coordinate_set = #rows, memory_space = #ktdp.spyre_memory_space<LX, core = 7>
  } : memref<32x64xf16>
  %4 = ktdp.construct_memory_view %base, sizes: [32, 64], strides: [64, 2048] {
    coordinate_set = #rows, memory_space = #ktdp.spyre_memory_space<unspecified>
  } : memref<32x64xf16, #spyre.layout<array<i64: 1, 0, 1>>>
  func.return
}

// CHECK-LABEL: @distributed
// CHECK-NEXT:    %d = ktdp.construct_distributed_memory_view(%a, %b : memref<32x64xf16>, memref<32x64xf16>) : memref<64x64xf16>
func.func @distributed(%a: memref<32x64xf16>, %b: memref<32x64xf16>) {
  %d = ktdp.construct_distributed_memory_view (%a, %b : memref<32x64xf16>, memref<32x64xf16>) : memref<64x64xf16>
  func.return
}

// Subscripts are affine; the prefix of a tile's type may be left out.

// CHECK-LABEL: @tiles
// CHECK-NEXT:    %t = ktdp.construct_access_tile %v[%i, %j + %i * 2 + -1] {access_tile_set = {{.*}}, access_tile_order = affine_map<(d0, d1) -> (d0, d1)>} : memref<64x64xf16> -> !ktdp.access_tile<32x64xindex>
// CHECK-NEXT:    %u = ktdp.construct_access_tile %v[(%i + %j) floordiv 2, %j mod 64] symbols(%n) {{.*}} : memref<64x64xf16> -> !ktdp.access_tile<?x64xindex>
// CHECK-NEXT:    %w = ktdp.construct_access_tile {{.*}} -> !ktdp.access_tile<64x32xindex>
// CHECK-NEXT:    %x = ktdp.load %t : !ktdp.access_tile<32x64xindex> -> tensor<32x64xf16>
// CHECK-NEXT:    ktdp.store %x, %t : tensor<32x64xf16>, !ktdp.access_tile<32x64xindex>
func.func @tiles(%v: memref<64x64xf16>, %i: index, %j: index, %n: index) {
  %t = ktdp.construct_access_tile %v[%i, %j + 2 * %i - 1] {
    access_tile_set = #rows, access_tile_order = #same
  } : memref<64x64xf16> -> !ktdp.access_tile<32x64xindex>
  %u = ktdp.construct_access_tile %v[(%i + %j) floordiv 2, %j mod 64] symbols(%n) {
    access_tile_set = #some, access_tile_order = #same
  } : memref<64x64xf16> -> <?x64xindex>
  %w = ktdp.construct_access_tile %v[%i, %j] {
    access_tile_set = #rows, access_tile_order = #swap
  } : memref<64x64xf16> -> !ktdp.access_tile<64x32xindex>
  %x = ktdp.load %t : <32x64xindex> -> tensor<32x64xf16>
  ktdp.store %x, %t : tensor<32x64xf16>, <32x64xindex>
  func.return
}

// Captured values come before a tile's own variables; the bare spelling is read too.

// CHECK-LABEL: @indirect
// CHECK-NEXT:    %t = ktdp.construct_indirect_access_tile intermediate_variables(%m, %k) %v[ind(%rows[%m + %first]), (%k mod 64)] {variables_space_set = {{.*}}, variables_space_order = {{.*}}} : memref<64x64xf16>, memref<99xi32> -> !ktdp.access_tile<32x64xindex>
// CHECK-NEXT:    ktdp.construct_indirect_access_tile intermediate_variables({{.*}}) %v[ind(%rows[{{.*}}]), ({{.*}})]
func.func @indirect(%v: memref<64x64xf16>, %rows: memref<99xi32>, %first: index) {
  %t = ktdp.construct_indirect_access_tile intermediate_variables(%m, %k) %v[ind(%rows[%m + %first]), (%k mod 64)] {
    variables_space_set = #rows, variables_space_order = #same
  } : memref<64x64xf16>, memref<99xi32> -> !ktdp.access_tile<32x64xindex>
  %u = ktdp.construct_indirect_access_tile intermediate_variables(%p, %q) %v[%rows[%p], %q] {
    variables_space_set = #rows, variables_space_order = #same
  } : memref<64x64xf16>, memref<99xi32> -> !ktdp.access_tile<32x64xindex>
  func.return
}

// CHECK-LABEL: @launch_argument
// CHECK-SAME:    !ktdp.runtime_arg<index, granularity=3, upperbound=300>
// CHECK-NEXT:    ktdp.runtime_arg_extract value from %n : !ktdp.runtime_arg<index, granularity=3, upperbound=300> -> index
// CHECK-NEXT:    ktdp.runtime_arg_extract granularity from %n
// CHECK-NEXT:    ktdp.runtime_arg_extract upperbound from %n
func.func @launch_argument(%n: !ktdp.runtime_arg<index, granularity=3, upperbound=300>) {
  %0 = ktdp.runtime_arg_extract value from %n : !ktdp.runtime_arg<index, granularity=3, upperbound=300> -> index
  %1 = ktdp.runtime_arg_extract granularity from %n : !ktdp.runtime_arg<index, granularity=3, upperbound=300> -> index
  %2 = ktdp.runtime_arg_extract upperbound from %n : !ktdp.runtime_arg<index, granularity=3, upperbound=300> -> index
  func.return
}
