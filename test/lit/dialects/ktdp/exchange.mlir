// RUN: spyre-opt %s | filecheck %s
// RUN: spyre-opt %s | spyre-opt | filecheck %s
// RUN: spyre-opt %s --print-op-generic | spyre-opt | filecheck %s

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#mirror = affine_set<(p)[c, g] : (p + c - 8 * g - 3 == 0)>
#groups = affine_set<(g) : (g >= 0, -g + 7 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #groups>

// CHECK-LABEL: @reduce
// CHECK:         %f = ktdp.inter_tile_produce producer_tiles_per_group = affine_set<{{.*}}> -> !ktdp.tile_future<(tensor<2x4xf32>), groups = affine_set<{{.*}}>> {
// CHECK-NEXT:    ^{{.*}}(%g: index):
// CHECK-NEXT:      ktdp.yield_partial %x : tensor<2x4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %r = ktdp.inter_tile_reduce(%f) consumer_tiles_per_group = affine_set<{{.*}}>, identity(%x : tensor<2x4xf32>) : !ktdp.tile_future<{{.*}}> -> tensor<2x4xf32> {
// CHECK-NEXT:    ^{{.*}}(%a: tensor<2x4xf32>, %b: tensor<2x4xf32>):
// CHECK-NEXT:      %s = arith.addf %a, %b : tensor<2x4xf32>
// CHECK-NEXT:      ktdp.yield_reduced %s : tensor<2x4xf32>
func.func @reduce(%x: tensor<2x4xf32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  %r = ktdp.inter_tile_reduce(%f) consumer_tiles_per_group = #four,
      identity(%x : tensor<2x4xf32>) : !future -> tensor<2x4xf32> {
  ^bb0(%a: tensor<2x4xf32>, %b: tensor<2x4xf32>):
    %s = arith.addf %a, %b : tensor<2x4xf32>
    ktdp.yield_reduced %s : tensor<2x4xf32>
  }
  func.return
}

// CHECK-LABEL: @reduce_scatter
// CHECK:         ktdp.inter_tile_reduce_scatter(%f) consumer_tiles_per_group = affine_set<{{.*}}>, scatter_dimensions = [1], identity(%x : tensor<2x4xf32>) : {{.*}} -> tensor<2x1xf32> {
func.func @reduce_scatter(%x: tensor<2x4xf32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  %r = ktdp.inter_tile_reduce_scatter(%f) consumer_tiles_per_group = #four,
      scatter_dimensions = [1], identity(%x : tensor<2x4xf32>)
      : !future -> tensor<2x1xf32> {
  ^bb0(%a: tensor<2x4xf32>, %b: tensor<2x4xf32>):
    ktdp.yield_reduced %a : tensor<2x4xf32>
  }
  func.return
}

// Each consumer names its sender; the types' prefix and parentheses may be left out.

// CHECK-LABEL: @route
// CHECK:         ktdp.inter_tile_consume(%f) consumer_tiles_per_group = affine_set<{{.*}}>, producer_dependency_per_consumer = affine_set<(d0)[s0, s1] : {{.*}}> : !ktdp.tile_future<(tensor<2x4xf32>), {{.*}}> -> tensor<2x4xf32>
func.func @route(%x: tensor<2x4xf32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four
      : tensor<2x4xf32> -> !ktdp.tile_future<tensor<2x4xf32>, groups = #groups> {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  %r = ktdp.inter_tile_consume(%f) consumer_tiles_per_group = #four,
      producer_dependency_per_consumer = #mirror
      : <(tensor<2x4xf32>), groups = #groups> -> tensor<2x4xf32>
  func.return
}

// CHECK-LABEL: @gather
// CHECK:         ktdp.inter_tile_gather(%f) consumer_tiles_per_group = {{.*}}, gather_dimensions = [0, 1] : {{.*}} -> tensor<4x8xf32>
func.func @gather(%x: tensor<2x4xf32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  %r = ktdp.inter_tile_gather(%f) consumer_tiles_per_group = #first,
      gather_dimensions = [0, 1] : !future -> tensor<4x8xf32>
  func.return
}

// CHECK-LABEL: @all_to_all
// CHECK:         ktdp.inter_tile_all_to_all(%f) consumer_tiles_per_group = {{.*}}, split_dimensions = [1], concat_dimensions = [0] : {{.*}} -> tensor<8x1xf32>
func.func @all_to_all(%x: tensor<2x4xf32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  %r = ktdp.inter_tile_all_to_all(%f) consumer_tiles_per_group = #four,
      split_dimensions = [1], concat_dimensions = [0] : !future -> tensor<8x1xf32>
  func.return
}

// CHECK-LABEL: @scatter
// CHECK:         ktdp.inter_tile_scatter(%f) consumer_tiles_per_group = {{.*}}, scatter_dimensions = [0, 1] : {{.*}} -> tensor<1x2xf32>
func.func @scatter(%x: tensor<2x4xf32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #first -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  %r = ktdp.inter_tile_scatter(%f) consumer_tiles_per_group = #four,
      scatter_dimensions = [0, 1] : !future -> tensor<1x2xf32>
  func.return
}

// Two correlated partials, as an argmax has.

// CHECK-LABEL: @two_roles
// CHECK:         %v, %i = ktdp.inter_tile_gather(%f) {{.*}} : !ktdp.tile_future<(tensor<1xf32>, tensor<1xi32>), {{.*}}> -> tensor<4xf32>, tensor<4xi32>
func.func @two_roles(%x: tensor<1xf32>, %n: tensor<1xi32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four
      -> !ktdp.tile_future<(tensor<1xf32>, tensor<1xi32>), groups = #groups> {
  ^bb0(%g: index):
    ktdp.yield_partial %x, %n : tensor<1xf32>, tensor<1xi32>
  }
  %v, %i = ktdp.inter_tile_gather(%f) consumer_tiles_per_group = #four,
      gather_dimensions = [0]
      : !ktdp.tile_future<(tensor<1xf32>, tensor<1xi32>), groups = #groups>
      -> tensor<4xf32>, tensor<4xi32>
  func.return
}

// Nothing merges two productions that are alike: each has its own delivery.

// RUN: spyre-opt %s -p cse,canonicalize | filecheck %s --check-prefix=CSE

// CSE-LABEL: @alike
// CSE-COUNT-2: ktdp.inter_tile_produce
func.func @alike(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %e = ktdp.inter_tile_produce producer_tiles_per_group = #first -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  %r = ktdp.inter_tile_consume(%e) consumer_tiles_per_group = #four : !future -> tensor<2x4xf32>
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #first -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  %s = ktdp.inter_tile_consume(%f) consumer_tiles_per_group = #four : !future -> tensor<2x4xf32>
  func.return %r, %s : tensor<2x4xf32>, tensor<2x4xf32>
}
