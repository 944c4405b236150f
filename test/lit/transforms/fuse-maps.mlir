// RUN: spyre-opt %s -p spyre-fuse-maps --split-input-file | filecheck %s
// RUN: spyre-opt %s -p spyre-fuse-maps,spyre-fuse-maps --split-input-file | filecheck %s

// A map that one map reads becomes part of it; a full tensor becomes a number.

// CHECK-LABEL: @chain
// CHECK-SAME:    (%[[X:.*]]: tensor<4x100xf16>)
// CHECK-NEXT:    spyre.map %[[X]] {maps = [affine_map<(d0, d1) -> (d0, d1)>]}
// CHECK-NEXT:    ^bb0(%[[A:.*]]: f16):
// CHECK-NEXT:      %[[E:.*]] = spyre.fn "exp"(%[[A]])
// CHECK-NEXT:      %[[C:.*]] = spyre.constant 2.000000e+00 : f16
// CHECK-NEXT:      %[[M:.*]] = spyre.fn "mul"(%[[E]], %[[C]])
// CHECK-NEXT:      spyre.yield %[[M]]
func.func @chain(%x: tensor<4x100xf16>) -> tensor<4x100xf16> {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>]} : (tensor<4x100xf16>) -> tensor<4x100xf16> {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %1 = spyre.full 2.0 : f16 -> tensor<1xf16>
  %2 = spyre.map %0, %1 {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (0)>]}
    : (tensor<4x100xf16>, tensor<1xf16>) -> tensor<4x100xf16> {
  ^bb0(%a: f16, %b: f16):
    %c = spyre.fn "mul"(%a, %b) : (f16, f16) -> f16
    spyre.yield %c : f16
  }
  func.return %2 : tensor<4x100xf16>
}

// -----

// Indexing maps compose; what two bodies read alike is read once, and done once.

// CHECK-LABEL: @composed
// CHECK-SAME:    (%[[X:.*]]: tensor<100x4xf16>)
// CHECK-NEXT:    spyre.map %[[X]] {maps = [affine_map<(d0, d1) -> (d1, d0)>]}
// CHECK-NEXT:    ^bb0(%[[A:.*]]: f16):
// CHECK-NEXT:      %[[N:.*]] = spyre.fn "neg"(%[[A]])
// CHECK-NEXT:      %[[M:.*]] = spyre.fn "mul"(%[[N]], %[[N]])
// CHECK-NEXT:      spyre.yield %[[M]]
func.func @composed(%x: tensor<100x4xf16>) -> tensor<4x100xf16> {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (j, i)>]} : (tensor<100x4xf16>) -> tensor<4x100xf16> {
  ^bb0(%a: f16):
    %b = spyre.fn "neg"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %1 = spyre.map %0, %x {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>]}
    : (tensor<4x100xf16>, tensor<100x4xf16>) -> tensor<4x100xf16> {
  ^bb0(%a: f16, %b: f16):
    %c = spyre.fn "neg"(%b) : (f16) -> f16
    %d = spyre.fn "mul"(%a, %c) : (f16, f16) -> f16
    spyre.yield %d : f16
  }
  func.return %1 : tensor<4x100xf16>
}

// -----

// A widening cast is made again in each map that reads it.

// CHECK-LABEL: @casts
// CHECK-COUNT-2: spyre.map {{.*}} : (tensor<64xf16>) -> tensor<64xf32>
// CHECK-NOT:   spyre.map
func.func @casts(%x: tensor<64xf16>) -> (tensor<64xf32>, tensor<64xf32>) {
  %0 = spyre.map %x {maps = [affine_map<(i) -> (i)>]} : (tensor<64xf16>) -> tensor<64xf32> {
  ^bb0(%a: f16):
    %b = spyre.fn "cast"(%a) : (f16) -> f32
    spyre.yield %b : f32
  }
  %1 = spyre.map %0 {maps = [affine_map<(i) -> (i)>]} : (tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%a: f32):
    %b = spyre.fn "exp"(%a) : (f32) -> f32
    spyre.yield %b : f32
  }
  %2 = spyre.map %0 {maps = [affine_map<(i) -> (i)>]} : (tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%a: f32):
    %b = spyre.fn "log"(%a) : (f32) -> f32
    spyre.yield %b : f32
  }
  func.return %1, %2 : tensor<64xf32>, tensor<64xf32>
}

// -----

// Negative: a row's factor is not computed for each element of the row, and a costly
// value with two users is computed once.

// CHECK-LABEL: @kept
// CHECK-COUNT-4: spyre.map
func.func @kept(%x: tensor<4x100xf16>, %s: tensor<4x1xf16>) -> (tensor<4x100xf16>, tensor<4x100xf16>) {
  %0 = spyre.map %s {maps = [affine_map<(i, j) -> (i, j)>]} : (tensor<4x1xf16>) -> tensor<4x1xf16> {
  ^bb0(%a: f16):
    %b = spyre.fn "rsqrt"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %1 = spyre.map %x, %0 {maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, 0)>]}
    : (tensor<4x100xf16>, tensor<4x1xf16>) -> tensor<4x100xf16> {
  ^bb0(%a: f16, %b: f16):
    %c = spyre.fn "mul"(%a, %b) : (f16, f16) -> f16
    spyre.yield %c : f16
  }
  %2 = spyre.map %1 {maps = [affine_map<(i, j) -> (i, j)>]} : (tensor<4x100xf16>) -> tensor<4x100xf16> {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %3 = spyre.map %1 {maps = [affine_map<(i, j) -> (i, j)>]} : (tensor<4x100xf16>) -> tensor<4x100xf16> {
  ^bb0(%a: f16):
    %b = spyre.fn "tanh"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %2, %3 : tensor<4x100xf16>, tensor<4x100xf16>
}

// -----

// Negative: results with a layout and operations with decisions stay.

// CHECK-LABEL: @decided
// CHECK-COUNT-3: spyre.map
func.func @decided(%x: tensor<64x64xf16>) -> tensor<64x64xf16> {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>]}
    : (tensor<64x64xf16>) -> tensor<64x64xf16, #spyre.layout<array<i64: 0, 1, 0>>> {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %1 = spyre.map %0 {maps = [affine_map<(i, j) -> (i, j)>], group = 1 : i64}
    : (tensor<64x64xf16, #spyre.layout<array<i64: 0, 1, 0>>>) -> tensor<64x64xf16> {
  ^bb0(%a: f16):
    %b = spyre.fn "tanh"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %2 = spyre.map %1 {maps = [affine_map<(i, j) -> (i, j)>]} : (tensor<64x64xf16>) -> tensor<64x64xf16> {
  ^bb0(%a: f16):
    %b = spyre.fn "neg"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %2 : tensor<64x64xf16>
}

// -----

// Negative: group 0 is a decision as any other; what has it stays as it is.

// CHECK-LABEL: @group_zero
// CHECK:         spyre.map {{.*}} group = 0 : i64
// CHECK:         spyre.map {{.*}} group = 0 : i64
func.func @group_zero(%x: tensor<4x100xf16>) -> tensor<4x100xf16> {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], group = 0 : i64} : (tensor<4x100xf16>) -> tensor<4x100xf16> {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %1 = spyre.map %0 {maps = [affine_map<(i, j) -> (i, j)>], group = 0 : i64} : (tensor<4x100xf16>) -> tensor<4x100xf16> {
  ^bb0(%a: f16):
    %b = spyre.fn "tanh"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %1 : tensor<4x100xf16>
}
