// RUN: spyre-opt %s --split-input-file --verify-roundtrip | filecheck %s

// Spellings of public KTIR that xDSL does not read by itself. A view without a
// coordinate set holds all of its coordinates.

// CHECK-LABEL: @reduced
// CHECK:         linalg.reduce ins(%{{.*}}:tensor<4x64xf32>) outs(%{{.*}}:tensor<4xf32>) dimensions = [1]
// CHECK:         arith.subf [[RUNNING:%.*]], [[NEXT:%.*]] fastmath<fast> : f32
// CHECK:         linalg.reduce
// CHECK:         arith.maximumf

func.func @reduced(%a: tensor<4x64xf32>, %init: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.reduce {arith.subf {fastmath = #arith.fastmath<fast>}} ins(%a : tensor<4x64xf32>) outs(%init : tensor<4xf32>) dimensions = [1]
  %1 = linalg.reduce { arith.maximumf } ins(%a : tensor<4x64xf32>) outs(%0 : tensor<4xf32>) dimensions = [1]
  func.return %1 : tensor<4xf32>
}

// -----

// CHECK-LABEL: @carried
// CHECK:         scf.for {{.*}} iter_args({{.*}}) -> (tensor<4xf32>)

func.func @carried(%init: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %init) -> tensor<4xf32> {
    scf.yield %acc : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: @views
// CHECK:         coordinate_set = affine_set<(d0) : (d0 >= 0, ((d0 * -1) + 63) >= 0)>
// CHECK:         sizes: [%{{.*}}, 64]
// CHECK-SAME:    affine_set<(d0, d1)[s0]
// CHECK-SAME:    memref<32x64xf16>

func.func @views(%base: index, %n: index) attributes {grid = [1]} {
  %v = ktdp.construct_memory_view %base, sizes: [64], strides: [1] {memory_space = #ktdp.memory_space<global>} : memref<64xf16>
  %w = ktdp.construct_memory_view %base, sizes: [%n, 64], strides: [64, 1] {memory_space = #ktdp.memory_space<global>} : memref<32x64xf16>
  func.return
}
