// RUN: spyre-opt %s --split-input-file --verify-diagnostics -o /dev/null

// Productions.

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{producer_tiles_per_group: tile 0 is in groups 0 and 1}}
  %f = ktdp.inter_tile_produce producer_tiles_per_group = affine_set<(i)[g] : (i >= 0, -i + 3 >= 0)> -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{producer_tiles_per_group: dimension 0 of (d0)[s0] : (d0 >= 0) is not bounded}}
  %f = ktdp.inter_tile_produce producer_tiles_per_group = affine_set<(i)[g] : (i >= 0)> -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{producer_tiles_per_group is a set (i)[g], got (d0, d1) : (d0 == 0, d1 == 0)}}
  %f = ktdp.inter_tile_produce producer_tiles_per_group = affine_set<(i, j) : (i == 0, j == 0)> -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{yield_partial gives other types than the future carries}}
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %y : tensor<4xf32>
  }
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{the region takes one index, the tile's group}}
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !future {
  ^bb0(%g: index, %h: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{the region ends with ktdp.yield_partial}}
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !future {
  ^bb0(%g: index):
    ktdp.region_terminator
  }
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{a tile_future has one use, by a delivery; this one has 2}}
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  %r = ktdp.inter_tile_gather(%f) consumer_tiles_per_group = #four, gather_dimensions = [0] : !future -> tensor<8x4xf32>
  %s = ktdp.inter_tile_gather(%f) consumer_tiles_per_group = #four, gather_dimensions = [0] : !future -> tensor<8x4xf32>
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{groups of a tile_future: dimension 0 of (d0) : (d0 >= 0) is not bounded}}
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !ktdp.tile_future<(tensor<2x4xf32>), groups = affine_set<(g) : (g >= 0)>> {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{groups of a tile_future are a set (g) without symbols}}
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !ktdp.tile_future<(tensor<2x4xf32>), groups = affine_set<(g)[s] : (g == 0)>> {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{a tile_future carries at least one partial}}
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !ktdp.tile_future<(), groups = #two> {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  func.return
}

// -----

// Who receives from whom.

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  // expected-error@+1 {{a consumer has one source; name it by producer_dependency_per_consumer}}
  %r = ktdp.inter_tile_consume(%f) consumer_tiles_per_group = #four : !future -> tensor<2x4xf32>
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  // expected-error@+1 {{tile 0 of group 0 receives from no producer}}
  %r = ktdp.inter_tile_consume(%f) consumer_tiles_per_group = #four, producer_dependency_per_consumer = affine_set<(p)[c] : (p - c - 1 == 0, p - 99 >= 0)> : !future -> tensor<2x4xf32>
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  // expected-error@+1 {{tiles [1, 2, 3] of group 0 produce for nobody}}
  %r = ktdp.inter_tile_consume(%f) consumer_tiles_per_group = #four, producer_dependency_per_consumer = affine_set<(p)[c, g] : (p - 4 * g == 0)> : !future -> tensor<2x4xf32>
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  // expected-error@+1 {{producer_dependency_per_consumer is a set (p)[c] or (p)[c, g]}}
  %r = ktdp.inter_tile_consume(%f) consumer_tiles_per_group = #four, producer_dependency_per_consumer = affine_set<(p)[a, b, c] : (p == 0)> : !future -> tensor<2x4xf32>
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  // expected-error@+1 {{consumer_tiles_per_group: tile 0 is in groups 0 and 1}}
  %r = ktdp.inter_tile_gather(%f) consumer_tiles_per_group = affine_set<(i) : (i == 0)>, gather_dimensions = [0] : !future -> tensor<8x4xf32>
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  // expected-error@+1 {{consumers differ in how many producers they receive from: [1, 3]}}
  %r = ktdp.inter_tile_gather(%f) consumer_tiles_per_group = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 1 >= 0)>, gather_dimensions = [0], producer_dependency_per_consumer = affine_set<(p)[c] : (p - c >= 0, -p + c + 2 * (c mod 4) >= 0)> : !future -> tensor<8x4xf32>
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  // expected-error@+1 {{tile 1 is a source of tiles 0 and 2}}
  %r = ktdp.inter_tile_gather(%f) consumer_tiles_per_group = #four, gather_dimensions = [0], producer_dependency_per_consumer = affine_set<(p)[c, g] : (p mod 2 - (c + 1) mod 2 == 0)> : !future -> tensor<4x4xf32>
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #first -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  // expected-error@+1 {{groups differ in how many tiles consume: [2, 4]}}
  %r = ktdp.inter_tile_scatter(%f) consumer_tiles_per_group = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 6 * g + 1 >= 0)>, scatter_dimensions = [1] : !future -> tensor<2x1xf32>
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  // expected-error@+1 {{each group of a scatter has one producer}}
  %r = ktdp.inter_tile_scatter(%f) consumer_tiles_per_group = #four, scatter_dimensions = [1] : !future -> tensor<2x1xf32>
  func.return
}

// -----

// Types and dimensions.

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #first -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  // expected-error@+1 {{receives tensor<2x5xf32> for a partial tensor<2x4xf32>}}
  %r = ktdp.inter_tile_consume(%f) consumer_tiles_per_group = #four : !future -> tensor<2x5xf32>
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #first -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  // expected-error@+1 {{2 results for 1 partials}}
  %r, %s = ktdp.inter_tile_consume(%f) consumer_tiles_per_group = #four : !future -> tensor<2x4xf32>, tensor<2x4xf32>
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  // expected-error@+1 {{gather_dimensions lists distinct dimensions in ascending order, got [1, 0]}}
  %r = ktdp.inter_tile_gather(%f) consumer_tiles_per_group = #four, gather_dimensions = [1, 0] : !future -> tensor<4x8xf32>
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  // expected-error@+1 {{gather_dimensions [2] is out of range for tensor<2x4xf32>}}
  %r = ktdp.inter_tile_gather(%f) consumer_tiles_per_group = #four, gather_dimensions = [2] : !future -> tensor<4x8xf32>
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  // expected-error@+1 {{tensor<2x8xf32> is not tensor<2x4xf32> with dimensions [] cut into 1 and [1] assembled from 4}}
  %r = ktdp.inter_tile_gather(%f) consumer_tiles_per_group = #four, gather_dimensions = [1] : !future -> tensor<2x8xf32>
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #first -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  // expected-error@+1 {{tensor<1x4xf32> is not tensor<2x4xf32> with dimensions [0] cut into 4 and [] assembled from 1}}
  %r = ktdp.inter_tile_scatter(%f) consumer_tiles_per_group = #four, scatter_dimensions = [0] : !future -> tensor<1x4xf32>
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  // expected-error@+1 {{tensor<2x4xf16> is no rearrangement of tensor<2x4xf32>}}
  %r = ktdp.inter_tile_all_to_all(%f) consumer_tiles_per_group = #four, split_dimensions = [1], concat_dimensions = [1] : !future -> tensor<2x4xf16>
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  // expected-error@+1 {{dimensions [1] are split and assembled among others, which does not say how much of each}}
  %r = ktdp.inter_tile_all_to_all(%f) consumer_tiles_per_group = #four, split_dimensions = [0, 1], concat_dimensions = [1] : !future -> tensor<1x8xf32>
  func.return
}

// -----

// Combiners.

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>, %y: tensor<4xf32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  // expected-error@+1 {{the identities have other types than the partials}}
  %r = ktdp.inter_tile_reduce(%f) consumer_tiles_per_group = #four, identity(%y : tensor<4xf32>) : !future -> tensor<2x4xf32> {
  ^bb0(%a: tensor<2x4xf32>, %b: tensor<2x4xf32>):
    ktdp.yield_reduced %a : tensor<2x4xf32>
  }
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  // expected-error@+1 {{the combiner takes every partial twice: all left ones, all right ones}}
  %r = ktdp.inter_tile_reduce(%f) consumer_tiles_per_group = #four, identity(%x : tensor<2x4xf32>) : !future -> tensor<2x4xf32> {
  ^bb0(%a: tensor<2x4xf32>):
    ktdp.yield_reduced %a : tensor<2x4xf32>
  }
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>, %y: tensor<4xf32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  // expected-error@+1 {{yield_reduced gives other types than the partials}}
  %r = ktdp.inter_tile_reduce(%f) consumer_tiles_per_group = #four, identity(%x : tensor<2x4xf32>) : !future -> tensor<2x4xf32> {
  ^bb0(%a: tensor<2x4xf32>, %b: tensor<2x4xf32>):
    ktdp.yield_reduced %y : tensor<4xf32>
  }
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  // expected-error@+1 {{the combiner ends with ktdp.yield_reduced}}
  %r = ktdp.inter_tile_reduce(%f) consumer_tiles_per_group = #four, identity(%x : tensor<2x4xf32>) : !future -> tensor<2x4xf32> {
  ^bb0(%a: tensor<2x4xf32>, %b: tensor<2x4xf32>):
    ktdp.region_terminator
  }
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>, %t: !ktdp.access_tile<2x4xindex>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  // expected-error@+1 {{the combiner is pure, but holds ktdp.load}}
  %r = ktdp.inter_tile_reduce(%f) consumer_tiles_per_group = #four, identity(%x : tensor<2x4xf32>) : !future -> tensor<2x4xf32> {
  ^bb0(%a: tensor<2x4xf32>, %b: tensor<2x4xf32>):
    %l = ktdp.load %t : <2x4xindex> -> tensor<2x4xf32>
    ktdp.yield_reduced %l : tensor<2x4xf32>
  }
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !future {
  ^bb0(%g: index):
    ktdp.yield_partial %x : tensor<2x4xf32>
  }
  // expected-error@+1 {{ktdp.inter_tile_gather combines nothing and takes no identity}}
  %r = ktdp.inter_tile_gather(%f) consumer_tiles_per_group = #four, identity(%x : tensor<2x4xf32>), gather_dimensions = [0] : !future -> tensor<8x4xf32>
  func.return
}

// -----

#four = affine_set<(i)[g] : (i - 4 * g >= 0, -i + 4 * g + 3 >= 0)>
#first = affine_set<(i)[g] : (i - 4 * g == 0)>
#two = affine_set<(g) : (g >= 0, -g + 1 >= 0)>
!future = !ktdp.tile_future<(tensor<2x4xf32>), groups = #two>

func.func @case(%x: tensor<2x4xf32>) {
  // expected-error@+1 {{ends a combiner, not the region of ktdp.inter_tile_produce}}
  %f = ktdp.inter_tile_produce producer_tiles_per_group = #four -> !future {
  ^bb0(%g: index):
    ktdp.yield_reduced %x : tensor<2x4xf32>
  }
  func.return
}
