// RUN: spyre-opt %s --split-input-file --verify-diagnostics -o /dev/null

// A core has coordinates.

func.func @case() {
  // expected-error@+1 {{expected at least one result}}
  "ktdp.get_compute_tile_id"() : () -> ()
  func.return
}

// -----

// Memory spaces.

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
func.func @case(%b: index) {
  // expected-error@+1 {{unknown memory space 'HBM', expected one of global, ct_local}}
  %v = ktdp.construct_memory_view %b, sizes: [4], strides: [1] {coordinate_set = #box, memory_space = #ktdp.memory_space<HBM>} : memref<4xf16>
  func.return
}

// -----

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
func.func @case(%b: index) {
  // expected-error@+1 {{memory space 'global' belongs to no core, but ct_id = 3 is given}}
  %v = ktdp.construct_memory_view %b, sizes: [4], strides: [1] {coordinate_set = #box, memory_space = #ktdp.memory_space<global, ct_id = 3>} : memref<4xf16>
  func.return
}

// -----

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
func.func @case(%b: index) {
  // expected-error@+1 {{core is not negative, got -2}}
  %v = ktdp.construct_memory_view %b, sizes: [4], strides: [1] {coordinate_set = #box, memory_space = #ktdp.spyre_memory_space<LX, core = -2>} : memref<4xf16>
  func.return
}

// -----

// Views.

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
func.func @case(%b: index, %n: index) {
  // expected-error@+1 {{1 sizes but 2 strides}}
  %v = ktdp.construct_memory_view %b, sizes: [4], strides: [1, 1] {coordinate_set = #box, memory_space = #ktdp.memory_space<global>} : memref<4xf16>
  func.return
}

// -----

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
func.func @case(%b: index, %n: index) {
  // expected-error@+1 {{1 sizes for a view of rank 2}}
  %v = ktdp.construct_memory_view %b, sizes: [4], strides: [1] {coordinate_set = #box, memory_space = #ktdp.memory_space<global>} : memref<4x4xf16>
  func.return
}

// -----

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
func.func @case(%b: index, %n: index) {
  // expected-error@+1 {{sizes [4] differ from the shape of memref<5xf16>}}
  %v = ktdp.construct_memory_view %b, sizes: [4], strides: [1] {coordinate_set = #box, memory_space = #ktdp.memory_space<global>} : memref<5xf16>
  func.return
}

// -----

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
func.func @case(%b: index, %n: index) {
  // expected-error@+1 {{coordinate_set has 1 dimensions, the view 2}}
  %v = ktdp.construct_memory_view %b, sizes: [4, 4], strides: [4, 1] {coordinate_set = #box, memory_space = #ktdp.memory_space<global>} : memref<4x4xf16>
  func.return
}

// -----

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
func.func @case(%b: index, %n: index) {
  // expected-error@+1 {{coordinate_set has 0 symbols for 1 dynamic sizes}}
  %v = ktdp.construct_memory_view %b, sizes: [%n], strides: [1] {coordinate_set = #box, memory_space = #ktdp.memory_space<global>} : memref<?xf16>
  func.return
}

// -----

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
func.func @case(%b: index, %n: index) {
  // expected-error@+1 {{layout [1, 0, 1] does not fit rank 1}}
  %v = ktdp.construct_memory_view %b, sizes: [4], strides: [1] {coordinate_set = #box, memory_space = #ktdp.memory_space<global>} : memref<4xf16, #spyre.layout<array<i64: 1, 0, 1>>>
  func.return
}

// -----

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
func.func @case(%b: index, %n: index) {
  // expected-error@+1 {{the view's type says #ktdp.memory_space<ct_local>, the operation #ktdp.memory_space<global>}}
  %v = ktdp.construct_memory_view %b, sizes: [4], strides: [1] {coordinate_set = #box, memory_space = #ktdp.memory_space<global>} : memref<4xf16, #ktdp.memory_space<ct_local>>
  func.return
}

// -----

func.func @case(%b: index, %n: index) {
  // expected-error@+1 {{2 dynamic sizes but 1 operands for them}}
  %v = "ktdp.construct_memory_view"(%b, %n) <{coordinate_set = affine_set<(d0, d1)[s0] : (d0 >= 0)>, memory_space = #ktdp.memory_space<global>, static_sizes = array<i64: -9223372036854775808, -9223372036854775808>, static_strides = array<i64: 1, 1>, operandSegmentSizes = array<i32: 1, 1, 0>}> : (index, index) -> memref<?x?xf16>
  func.return
}

// -----

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
func.func @case(%b: index) {
  // expected-error@+1 {{ktdp.construct_memory_view needs memory_space}}
  %v = ktdp.construct_memory_view %b, sizes: [4], strides: [1] {coordinate_set = #box} : memref<4xf16>
  func.return
}

// -----

// Distributed views.

func.func @case(%b: index) {
  // expected-error@+1 {{expected at least one part}}
  %d = ktdp.construct_distributed_memory_view () : memref<4xf16>
  func.return
}

// -----

func.func @case(%x: memref<4xf16>, %y: memref<4xf32>) {
  // expected-error@+1 {{part 1 holds f32, the view f16}}
  %d = ktdp.construct_distributed_memory_view (%x, %y : memref<4xf16>, memref<4xf32>) : memref<8xf16>
  func.return
}

// -----

func.func @case(%x: memref<4x1xf16>) {
  // expected-error@+1 {{part 0 has rank 2, the view 1}}
  %d = ktdp.construct_distributed_memory_view (%x : memref<4x1xf16>) : memref<8xf16>
  func.return
}

// -----

// Access tiles.

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#same = affine_map<(d0) -> (d0)>
func.func @case(%v: memref<8xf16>, %i: index, %j: index) {
  // expected-error@+1 {{an access tile holds index, not f16}}
  %t = ktdp.construct_access_tile %v[%i] {access_tile_set = #box, access_tile_order = #same} : memref<8xf16> -> !ktdp.access_tile<4xf16>
  func.return
}

// -----

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#same = affine_map<(d0) -> (d0)>
func.func @case(%v: memref<8xf16>, %i: index, %j: index) {
  // expected-error@+1 {{2 subscripts for a view of rank 1}}
  %t = ktdp.construct_access_tile %v[%i, %j] {access_tile_set = #box, access_tile_order = #same} : memref<8xf16> -> !ktdp.access_tile<4xindex>
  func.return
}

// -----

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#same = affine_map<(d0) -> (d0)>
func.func @case(%v: memref<8xf16>, %i: index, %j: index) {
  // expected-error@+1 {{access_tile_set has 2 dimensions for 1 subscripts}}
  %t = ktdp.construct_access_tile %v[%i] {access_tile_set = affine_set<(d0, d1) : (d0 >= 0, -d0 + 3 >= 0, d1 >= 0, -d1 + 3 >= 0)>, access_tile_order = affine_map<(d0, d1) -> (d0, d1)>} : memref<8xf16> -> !ktdp.access_tile<4x4xindex>
  func.return
}

// -----

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#same = affine_map<(d0) -> (d0)>
func.func @case(%v: memref<8xf16>, %i: index, %j: index) {
  // expected-error@+1 {{access_tile_set has 0 symbols for 1 symbol operands}}
  %t = ktdp.construct_access_tile %v[%i] symbols(%j) {access_tile_set = #box, access_tile_order = #same} : memref<8xf16> -> !ktdp.access_tile<4xindex>
  func.return
}

// -----

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#same = affine_map<(d0) -> (d0)>
func.func @case(%v: memref<8xf16>, %i: index, %j: index) {
  // expected-error@+1 {{access_tile_order permutes the dimensions of the set, got (d0) -> (0)}}
  %t = ktdp.construct_access_tile %v[%i] {access_tile_set = #box, access_tile_order = affine_map<(d0) -> (0)>} : memref<8xf16> -> !ktdp.access_tile<4xindex>
  func.return
}

// -----

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#same = affine_map<(d0) -> (d0)>
func.func @case(%v: memref<8xf16>, %i: index, %j: index) {
  // expected-error@+1 {{access_tile_order has 2 dimensions, access_tile_set 1}}
  %t = ktdp.construct_access_tile %v[%i] {access_tile_set = #box, access_tile_order = affine_map<(d0, d1) -> (d0, d1)>} : memref<8xf16> -> !ktdp.access_tile<4xindex>
  func.return
}

// -----

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#same = affine_map<(d0) -> (d0)>
func.func @case(%v: memref<8xf16>, %i: index, %j: index) {
  // expected-error@+1 {{!ktdp.access_tile<4x1xindex> has rank 2 for a set of 1 dimensions}}
  %t = ktdp.construct_access_tile %v[%i] {access_tile_set = #box, access_tile_order = #same} : memref<8xf16> -> !ktdp.access_tile<4x1xindex>
  func.return
}

// -----

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#same = affine_map<(d0) -> (d0)>
func.func @case(%v: memref<8xf16>, %i: index, %j: index) {
  // expected-error@+1 {{!ktdp.access_tile<5xindex> for a set of [4] coordinates}}
  %t = ktdp.construct_access_tile %v[%i] {access_tile_set = #box, access_tile_order = #same} : memref<8xf16> -> !ktdp.access_tile<5xindex>
  func.return
}

// -----

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#same = affine_map<(d0) -> (d0)>
func.func @case(%v: memref<8xf16>, %i: index, %j: index) {
  // expected-error@+1 {{base_map takes 2 values and 0 symbols, got 1 values}}
  %t = "ktdp.construct_access_tile"(%v, %i) <{access_tile_set = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>, access_tile_order = affine_map<(d0) -> (d0)>, base_map = affine_map<(d0, d1) -> (d0)>, operandSegmentSizes = array<i32: 1, 1, 0>}> : (memref<8xf16>, index) -> !ktdp.access_tile<4xindex>
  func.return
}

// -----

// Loads and stores.

func.func @case(%t: !ktdp.access_tile<4xindex>) {
  // expected-error@+1 {{!ktdp.access_tile<4xindex> and tensor<5xf16> differ in shape}}
  %x = ktdp.load %t : !ktdp.access_tile<4xindex> -> tensor<5xf16>
  func.return
}

// -----

func.func @case(%t: !ktdp.access_tile<4xindex>, %x: tensor<4x1xf16>) {
  // expected-error@+1 {{!ktdp.access_tile<4xindex> and tensor<4x1xf16> differ in shape}}
  ktdp.store %x, %t : tensor<4x1xf16>, !ktdp.access_tile<4xindex>
  func.return
}

// -----

// Indirect tiles.

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#same = affine_map<(d0) -> (d0)>
func.func @case(%v: memref<8xf16>, %r: memref<9xi32>, %s: memref<9x9xi32>) {
  // expected-error@+1 {{expected 2 types, the view's and each index view's, got 1}}
  %t = ktdp.construct_indirect_access_tile intermediate_variables(%m) %v[ind(%r[%m])] {variables_space_set = #box, variables_space_order = #same} : memref<8xf16> -> !ktdp.access_tile<4xindex>
  func.return
}

// -----

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#same = affine_map<(d0) -> (d0)>
func.func @case(%v: memref<8xf16>, %r: memref<9xi32>, %s: memref<9x9xi32>) {
  // expected-error@+1 {{2 subscripts of 2 kinds for a view of rank 1}}
  %t = ktdp.construct_indirect_access_tile intermediate_variables(%m) %v[(%m), (%m)] {variables_space_set = #box, variables_space_order = #same} : memref<8xf16> -> !ktdp.access_tile<4xindex>
  func.return
}

// -----

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#same = affine_map<(d0) -> (d0)>
func.func @case(%v: memref<8xf16>, %r: memref<9xi32>, %s: memref<9x9xi32>) {
  // expected-error@+1 {{subscript 0 has 1 expressions, expected 2}}
  %t = ktdp.construct_indirect_access_tile intermediate_variables(%m) %v[ind(%s[%m])] {variables_space_set = #box, variables_space_order = #same} : memref<8xf16>, memref<9x9xi32> -> !ktdp.access_tile<4xindex>
  func.return
}

// -----

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#same = affine_map<(d0) -> (d0)>
func.func @case(%v: memref<8xf16>, %r: memref<9xi32>, %s: memref<9x9xi32>) {
  // expected-error@+1 {{2 intermediate variables for a set of 1 dimensions}}
  %t = ktdp.construct_indirect_access_tile intermediate_variables(%m, %n) %v[(%m)] {variables_space_set = #box, variables_space_order = #same} : memref<8xf16> -> !ktdp.access_tile<4xindex>
  func.return
}

// -----

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#same = affine_map<(d0) -> (d0)>
func.func @case(%v: memref<8xf16>, %r: memref<9xi32>, %s: memref<9x9xi32>) {
  // expected-error@+1 {{variables_space_set has 1 symbols for 0 symbol operands}}
  %t = ktdp.construct_indirect_access_tile intermediate_variables(%m) %v[(%m)] {variables_space_set = affine_set<(d0)[s0] : (d0 >= 0)>, variables_space_order = #same} : memref<8xf16> -> !ktdp.access_tile<4xindex>
  func.return
}

// -----

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#same = affine_map<(d0) -> (d0)>
func.func @case(%v: memref<8xf16>, %r: memref<9xi32>, %s: memref<9x9xi32>) {
  // expected-error@+1 {{variables_space_order has 2 dimensions, variables_space_set 1}}
  %t = ktdp.construct_indirect_access_tile intermediate_variables(%m) %v[(%m)] {variables_space_set = #box, variables_space_order = affine_map<(d0, d1) -> (d0, d1)>} : memref<8xf16> -> !ktdp.access_tile<4xindex>
  func.return
}

// -----

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#same = affine_map<(d0) -> (d0)>
func.func @case(%v: memref<8xf16>, %r: memref<9xi32>, %s: memref<9x9xi32>) {
  // expected-error@+1 {{1 indirect subscripts but 0 index views}}
  %t = "ktdp.construct_indirect_access_tile"(%v) <{variables_space_set = #box, variables_space_order = #same, per_dim_subscript_kinds = [true], per_dim_subscript_maps = [#same], operandSegmentSizes = array<i32: 1, 0, 0, 0>}> ({
  ^bb0(%m: index):
    ktdp.region_terminator
  }) : (memref<8xf16>) -> !ktdp.access_tile<4xindex>
  func.return
}

// -----

#box = affine_set<(d0) : (d0 >= 0, -d0 + 3 >= 0)>
#same = affine_map<(d0) -> (d0)>
func.func @case(%v: memref<8xf16>, %r: memref<9xi32>, %s: memref<9x9xi32>) {
  // expected-error@+1 {{the map of subscript 0 takes 2 values, expected 1: captured values, then variables}}
  %t = "ktdp.construct_indirect_access_tile"(%v) <{variables_space_set = #box, variables_space_order = #same, per_dim_subscript_kinds = [false], per_dim_subscript_maps = [affine_map<(d0, d1) -> (d0)>], operandSegmentSizes = array<i32: 1, 0, 0, 0>}> ({
  ^bb0(%m: index):
    ktdp.region_terminator
  }) : (memref<8xf16>) -> !ktdp.access_tile<4xindex>
  func.return
}

// -----

// Launch arguments.

func.func @case(%n: index) {
  // expected-error@+1 {{granularity of a runtime_arg is positive, got 0}}
  %x = ktdp.runtime_arg_extract value from %n : !ktdp.runtime_arg<index, granularity=0> -> index
  func.return
}

// -----

func.func @case(%n: !ktdp.runtime_arg<index>) {
  // expected-error@+1 {{!ktdp.runtime_arg<index> states no upperbound}}
  %x = ktdp.runtime_arg_extract upperbound from %n : !ktdp.runtime_arg<index> -> index
  func.return
}

// -----

func.func @case(%n: !ktdp.runtime_arg<i32>) {
  // expected-error@+1 {{the value of !ktdp.runtime_arg<i32> is i32, not index}}
  %x = ktdp.runtime_arg_extract value from %n : !ktdp.runtime_arg<i32> -> index
  func.return
}

// -----

func.func @case(%n: !ktdp.runtime_arg<i32>) {
  // expected-error@+1 {{unknown kind 'step', expected one of value, granularity, upperbound}}
  %x = ktdp.runtime_arg_extract step from %n : !ktdp.runtime_arg<i32> -> i32
  func.return
}
