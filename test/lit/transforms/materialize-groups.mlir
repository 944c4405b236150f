// RUN: spyre-opt %s -p spyre-materialize-groups --split-input-file | filecheck %s
// RUN: spyre-opt %s -p spyre-materialize-groups --split-input-file --mlir-print-debuginfo | filecheck %s --check-prefix LOC

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// A group becomes a kernel and its place a call.

// CHECK-LABEL: @one
// CHECK-SAME:    (%[[X:.*]]: tensor
// CHECK-NEXT:    %[[Y:.*]] = func.call @k0(%[[X]])
// CHECK-NEXT:    func.return %[[Y]]
// CHECK:       func.func private @k0({{.*}}) {{.*}} attributes {grid = array<i64: 8, 4>} {
// CHECK:         spyre.fn "exp"
// CHECK:         spyre.fn "tanh"

// The call has the line of each of its operations, which a shared kernel does not.

// LOC-LABEL: @one
// LOC:         func.call @k0{{.*}}locations = [loc("model.py":3:1), loc("model.py":4:1)]
func.func @one(%x: !t) -> !t {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  } loc("model.py":3:1)
  %1 = spyre.map %0 {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "tanh"(%a) : (f16) -> f16
    spyre.yield %b : f16
  } loc("model.py":4:1)
  func.return %1 : !t
}

// -----

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// Only what is used outside is a result of the kernel.

// CHECK-LABEL: @outputs
// CHECK:         %[[Y:.*]], %[[Z:.*]] = func.call @k0(%{{.*}}) {{.*}} : ([[T:tensor<.*>]]) -> ([[T]], [[T]])
// CHECK:         func.return %[[Y]], %[[Z]]
func.func @outputs(%x: !t) -> (!t, !t) {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %1 = spyre.map %0 {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "tanh"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %2 = spyre.map %1 {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "neg"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0, %2 : !t, !t
}

// -----

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// Groups that are alike share a kernel; another function makes another.

// CHECK-LABEL: @alike
// CHECK:         func.call @k0
// CHECK:         func.call @k0
// CHECK:         func.call @k1
// CHECK:       func.func private @k0
// CHECK:       func.func private @k1
// CHECK-NOT:   func.func private @k2
func.func @alike(%x: !t) -> !t {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %1 = spyre.map %0 {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 1 : i64, tile = #spyre.tile<[], 2 : i64>} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %2 = spyre.map %1 {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 2 : i64, tile = #spyre.tile<[], 2 : i64>} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "neg"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %2 : !t
}

// -----

// Negative: a function without tensor operations has no groups.

// CHECK-LABEL: @empty
// CHECK-NEXT:    func.return
// CHECK-NOT:   func.func private
func.func @empty() {
  func.return
}
