// RUN: spyre-opt %s -p spyre-convert-spyre-to-ktdp --split-input-file | filecheck %s
// RUN: spyre-opt %s -p spyre-convert-spyre-to-ktdp --split-input-file | spyre-opt -p spyre-convert-ktdp-to-dev --split-input-file | filecheck %s --check-prefix DEV

// Rows in four blocks of 17 and the rest: extents are dynamic where cores differ. The
// call becomes a launch by addresses.

// CHECK-LABEL: func.func @main
// CHECK:         dev.call @elementwise(%x) : (tensor<67x129xf16
// CHECK-LABEL: func.func private @elementwise(%s0: index, %s1: index) attributes {grid = array<i64: 4>, lx_bytes = 13056 : i64} {
// CHECK-DAG:     %[[Z:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[B:.*]] = arith.constant 3264 : index
// CHECK:         %[[D:.*]] = ktdp.get_compute_tile_id : index
// CHECK:         %[[N:.*]] = affine.min affine_map<(d0) -> (17, ((d0 * -17) + 67))> (%[[D]])
// CHECK:         %[[A:.*]] = affine.apply affine_map<(d0)[s0] -> ((s0 + (d0 * 1088)))> (%[[D]])[%s0]
// CHECK:         %[[V:.*]] = ktdp.construct_memory_view %[[A]], sizes: [%[[N]], 129], strides: [64, 4288]
// CHECK-SAME:      memory_space = #ktdp.memory_space<global>} : memref<?x129xf16, #spyre.layout<array<i64: 1, 0, 1>>>
// CHECK:         %[[T:.*]] = ktdp.construct_access_tile %[[V]][0, 0] symbols(%[[N]])
// CHECK:         %[[X:.*]] = ktdp.load %[[T]] : !ktdp.access_tile<?x129xindex> -> tensor<?x129xf16>
// CHECK:         %[[L:.*]] = ktdp.construct_memory_view %[[B]], sizes: [%[[N]], 129], strides: [64, 1088]
// CHECK-SAME:      memory_space = #ktdp.memory_space<ct_local>}
// CHECK:         ktdp.store %[[X]]
// CHECK:         %[[Y:.*]] = ktdp.load {{.*}} -> tensor<?x129xf16>
// CHECK:         %[[E:.*]] = tensor.empty(%[[N]]) : tensor<?x129xf16>
// CHECK:         %[[R:.*]] = linalg.generic {{.*}} ins(%[[Y]] : tensor<?x129xf16>) outs(%[[E]] : tensor<?x129xf16>) {
// CHECK-NEXT:    ^bb0(%[[P:.*]]: f16, %{{.*}}: f16):
// CHECK-NEXT:      %[[W:.*]] = arith.extf %[[P]] : f16 to f32
// CHECK-NEXT:      %[[U:.*]] = math.exp %[[W]] : f32
// CHECK-NEXT:      %[[C:.*]] = arith.cmpf ogt, %[[U]], %[[W]] : f32
// CHECK-NEXT:      %[[S:.*]] = arith.select %[[C]], %[[U]], %[[W]] : f32
// CHECK-NEXT:      %[[G:.*]] = spyreop.fn "gelu"(%[[S]]) : (f32) -> f32
// CHECK-NEXT:      %[[O:.*]] = arith.truncf %[[G]] : f32 to f16
// CHECK-NEXT:      linalg.yield %[[O]] : f16
// CHECK:         ktdp.store %[[R]]
// CHECK:         %[[Q:.*]] = ktdp.load
// CHECK:         ktdp.store %[[Q]]
// CHECK:         func.return

// DEV-LABEL:   dev.program attributes {sym_name = "elementwise", grid = array<i64: 4>, symbols = 2 : i64, lx_bytes = 13056 : i64
// DEV:         dev.stream "load"
// DEV-NEXT:      dev.transfer {axes = [#dev.axis<67 : i64, 0 : i64, 17 : i64, -1 : i64, 17 : i64, 0 : i64>, #dev.axis<129
// DEV:         dev.stream "store"
// DEV-NEXT:      dev.transfer
// DEV:         dev.stream "sfp"
// DEV-NEXT:      dev.vector
// DEV-SAME:        steps = [#dev.step<"cast", array<i64: 0>, "f32", array<i64>>, #dev.step<"exp", array<i64: 1>, "f32", array<i64>>, #dev.step<"gt", array<i64: 2, 1>, "i1", array<i64>>, #dev.step<"where", array<i64: 3, 2, 1>, "f32", array<i64>>, #dev.step<"gelu", array<i64: 4>, "f32", array<i64>>, #dev.step<"cast", array<i64: 5>, "f16", array<i64>>]
!t = tensor<67x129xf16, #spyre.layout<array<i64: 1, 0, 1>>>
func.func @main(%x: !t) -> !t {
  %0 = func.call @elementwise(%x) : (!t) -> !t
  func.return %0 : !t
}
func.func private @elementwise(%x: !t) -> !t attributes {grid = array<i64: 4>} {
  %0 = spyre.map %x {maps = [affine_map<(a, b) -> (a, b)>], division = #spyre.division<array<i64: 4, 1>, array<i64: 0, 1>>,
      places = [#spyre.place<"lx", 0 : i64>, #spyre.place<"lx", 6528 : i64>]} : (!t) -> !t {
  ^bb0(%p: f16):
    %w = spyre.fn "cast"(%p) : (f16) -> f32
    %u = spyre.fn "exp"(%w) : (f32) -> f32
    %c = spyre.fn "gt"(%u, %w) : (f32, f32) -> i1
    %s = spyre.fn "where"(%c, %u, %w) : (i1, f32, f32) -> f32
    %g = spyre.fn "gelu"(%s) : (f32) -> f32
    %o = spyre.fn "cast"(%g) : (f32) -> f16
    spyre.yield %o : f16
  }
  func.return %0 : !t
}

// -----

// A matmul over three trips of a private loop: two stages of each operand, partial sums
// that start from nothing at the first trip, and the rounding after the last.

// CHECK-LABEL: func.func private @contraction(
// CHECK:         %[[ZERO:.*]] = arith.constant -0.000000e+00 : f32
// CHECK:         scf.for %[[K:.*]] = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK:           affine.apply affine_map<(d0, d1)[s0] -> ((s0 + ((d0 * 1088) + (d1 * 4288))))> (%{{.*}}, %[[K]])[%s0]
// CHECK:           affine.apply affine_map<(d0) -> ((((d0 mod 2) * 1088) + 8192))> (%[[K]])
// CHECK:           %[[ACC:.*]] = ktdp.construct_access_tile {{.*}} memref<?x70xf32
// CHECK:           %[[FIRST:.*]] = arith.cmpi eq, %[[K]], %{{.*}} : index
// CHECK:           %[[INIT:.*]] = scf.if %[[FIRST]] -> (tensor<?x70xf32>) {
// CHECK-NEXT:        %[[S:.*]] = tensor.splat %[[ZERO]][%{{.*}}] : tensor<?x70xf32>
// CHECK-NEXT:        scf.yield %[[S]]
// CHECK-NEXT:      } else {
// CHECK-NEXT:        %[[O:.*]] = ktdp.load %[[ACC]]
// CHECK-NEXT:        scf.yield %[[O]]
// CHECK:           %[[SUM:.*]] = linalg.generic
// CHECK-SAME:        iterator_types = ["parallel", "parallel", "reduction"], library_call = "matmul"}
// CHECK-SAME:        outs(%[[INIT]] : tensor<?x70xf32>)
// CHECK:             arith.mulf
// CHECK-NEXT:        arith.addf
// CHECK:           ktdp.store %[[SUM]], %[[ACC]]
// CHECK:         }
// CHECK:         linalg.generic
// CHECK:           arith.truncf

// DEV-LABEL:   sym_name = "contraction"
// DEV:         dev.stream "load"
// DEV-NEXT:      dev.loop 3 : i64 {
// DEV-NEXT:        dev.transfer
// DEV-NEXT:        dev.transfer
// DEV:         dev.stream "pt"
// DEV-NEXT:      dev.loop 3 : i64 {
// DEV-NEXT:        dev.matmul {axes = [#dev.axis<67 : i64, 0 : i64, 17 : i64, -1 : i64, 17 : i64, 0 : i64>, #dev.axis<70 : i64, -1 : i64, 70 : i64, -1 : i64, 70 : i64, 0 : i64>, #dev.axis<129 : i64, -1 : i64, 129 : i64, 0 : i64, 64 : i64, 0 : i64>]
// DEV-SAME:          roles = "mnk"
// DEV-SAME:          acc_level = 0
// DEV:         dev.stream "sfp"
// DEV-NEXT:      dev.vector
!x = tensor<67x129xf16, #spyre.layout<array<i64: 1, 0, 1>>>
!w = tensor<70x129xf16, #spyre.layout<array<i64: 1, 0, 1>>>
!y = tensor<67x70xf16, #spyre.layout<array<i64: 1, 0, 1>>>
func.func private @contraction(%x: !x, %w: !w) -> !y attributes {grid = array<i64: 4>} {
  %0 = spyre.matmul %x, %w {lhs_map = affine_map<(m, n, k) -> (m, k)>, rhs_map = affine_map<(m, n, k) -> (n, k)>,
      result_map = affine_map<(m, n, k) -> (m, n)>, division = #spyre.division<array<i64: 4, 1, 1>, array<i64: 0, 1, 2>>,
      tile = #spyre.tile<[array<i64: 2, 3>], 2 : i64>,
      places = [#spyre.place<"lx", 0 : i64>, #spyre.place<"lx", 16384 : i64>, #spyre.place<"lx", 32768 : i64>, #spyre.place<"lx", 65536 : i64>]}
      : !x, !w -> !y
  func.return %0 : !y
}

// -----

// A reshape inside sticks: the target's lane is 32 h + d, a row of an indirect tile
// without indices. The load brings whole sticks, the shuffle moves elements.

// CHECK-LABEL: func.func private @heads(
// CHECK:         ktdp.construct_indirect_access_tile intermediate_variables(%[[H:.*]], %[[D:.*]]) %{{.*}}[(%[[H]] * 32 + %[[D]])]
// CHECK-SAME:      memref<96xf16
// CHECK:         ktdp.store %{{.*}} : tensor<3x32xf16>

// DEV-LABEL:   sym_name = "heads"
// DEV:         dev.shuffle
// DEV-SAME:      target = #dev.access<"lx", "f16", 0 : i64, array<i64: 0, 0>, array<i64: 32, 1>, 64 : i64
!h = tensor<3x32xf16, #spyre.layout<array<i64: 1, 0, 1>>>
!v = tensor<96xf16, #spyre.layout<array<i64: 0, 0>>>
func.func private @heads(%x: !h) -> !v attributes {grid = array<i64: 1>} {
  %0 = spyre.reindex %x {sizes = array<i64: 3, 32>, extra = [array<i64>], source_maps = [affine_map<(h, d) -> (h, d)>],
      target_maps = [affine_map<(h, d) -> (h * 32 + d)>], places = [#spyre.place<"lx", 0 : i64>, #spyre.place<"lx", 1024 : i64>]} : (!h) -> !v
  func.return %0 : !v
}

// -----

// A gather is a load at coordinates that an index view holds.

// CHECK-LABEL: func.func private @rows(
// CHECK:         %[[V:.*]] = ktdp.construct_memory_view %s0, sizes: [1000, 96], strides: [64, 64000]
// CHECK:         ktdp.construct_indirect_access_tile intermediate_variables(%[[R:.*]], %[[C:.*]]) %[[V]][ind(%{{.*}}{{.}}%[[R]]{{.}}), (%[[C]])]
// CHECK:         ktdp.load {{.*}} -> tensor<5x96xf16>

// DEV-LABEL:   sym_name = "rows"
// DEV:         dev.gather
// DEV-SAME:      index_stride = 64 : i64, index_stick = 0 : i64, limit = 1000 : i64
!t = tensor<1000x96xf16, #spyre.layout<array<i64: 1, 0, 1>>>
!i = tensor<5xi64, #spyre.layout<array<i64: 0, 0>>>
!y = tensor<5x96xf16, #spyre.layout<array<i64: 1, 0, 1>>>
func.func private @rows(%t: !t, %i: !i) -> !y attributes {grid = array<i64: 1>} {
  %0 = spyre.gather %t, %i {axis = 0 : i64, source_map = affine_map<(r, c) -> (0, c)>, index_map = affine_map<(r, c) -> (r)>,
      places = [#spyre.place<"lx", 0 : i64>, #spyre.place<"lx", 2048 : i64>]} : !t, !i -> !y
  func.return %0 : !y
}

// -----

// The coordinate of a divided axis counts from where the core's part starts.

// CHECK-LABEL: func.func private @count(
// CHECK:         %[[S:.*]] = affine.apply affine_map<(d0) -> ((d0 * 64))>
// CHECK:         linalg.generic
// CHECK:           %[[K:.*]] = linalg.index 0 : index
// CHECK-NEXT:      %[[J:.*]] = arith.addi %[[K]], %[[S]] : index
// CHECK-NEXT:      arith.index_cast %[[J]] : index to i64

// DEV-LABEL:   sym_name = "count"
// DEV:         dev.vector {axes = [#dev.axis<128 : i64, 0 : i64, 64 : i64, -1 : i64, 64 : i64, 0 : i64>]
// DEV-SAME:      #dev.step<"index", array<i64>, "i64", array<i64: 0>>
!v = tensor<128xi64, #spyre.layout<array<i64: 0, 0>>>
func.func private @count() -> !v attributes {grid = array<i64: 2>} {
  %0 = spyre.iota {dim = 0 : i64, start = 0 : i64, step = 3 : i64, division = #spyre.division<array<i64: 2>, array<i64: 0>>,
      places = [#spyre.place<"lx", 0 : i64>]} : !v
  func.return %0 : !v
}

// -----

// What is no kernel stays.

// CHECK-LABEL: func.func @whole
// CHECK:         spyre.full

// DEV-LABEL:   func.func @whole
// DEV:           spyre.full
func.func @whole() -> tensor<4xf16> {
  %0 = spyre.full 0.0 : f16 -> tensor<4xf16>
  func.return %0 : tensor<4xf16>
}

// -----

// Negative: a function that is no kernel stays.

// CHECK-LABEL: func.func @no_kernel
// CHECK-NEXT:    spyre.reduce
// DEV-LABEL:   func.func @no_kernel
func.func @no_kernel(%x: tensor<4x100xf16>) -> tensor<4x1xf16> {
  %0 = spyre.reduce "sum" %x {dims = array<i64: 1>} : tensor<4x100xf16> -> tensor<4x1xf16>
  func.return %0 : tensor<4x1xf16>
}
