// RUN: spyre-opt %s -p spyre-plan-division --split-input-file --verify-diagnostics | filecheck %s
// RUN: spyre-opt %s -p spyre-plan-division,spyre-plan-division --split-input-file --verify-diagnostics | filecheck %s

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// Every operation gets parts by iterator, on up to 32 cores; what may be fused gets
// the same ones.

// CHECK-LABEL: @chain
// CHECK:         spyre.map {{.*}} division = [[DIVISION:#spyre.division<array<i64: [0-9]+, [0-9]+>, array<i64: 0, 1>>]]}
// CHECK:         spyre.map {{.*}} division = [[DIVISION]]}
func.func @chain(%x: !t) -> !t {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %1 = spyre.map %0 {maps = [affine_map<(i, j) -> (i, j)>]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "tanh"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %1 : !t
}

// -----

!a = tensor<512x256xf16, #spyre.layout<array<i64: 1, 0, 1>>>
!b = tensor<256x1024xf16, #spyre.layout<array<i64: 1, 0, 1>>>
!c = tensor<512x1024xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// A product is divided by its rows and columns, never by what it sums over.

// CHECK-LABEL: @product
// CHECK:         spyre.matmul {{.*}} division = #spyre.division<array<i64: {{[0-9]+, [0-9]+}}, 1>, array<i64: 0, 1, 2>>
func.func @product(%a: !a, %b: !b) -> !c {
  %0 = spyre.matmul %a, %b {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (k, n)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : !a, !b -> !c
  func.return %0 : !c
}

// -----

!x = tensor<3x100xf16, #spyre.layout<array<i64: 1, 0, 1>>>
!r = tensor<3x1xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// A reduction is divided by what it keeps: three rows, three cores.

// CHECK-LABEL: @reduction
// CHECK:         spyre.reduce {{.*}} division = #spyre.division<array<i64: 3, 1>, array<i64: 0, 1>>
func.func @reduction(%x: !x) -> !r {
  %0 = spyre.reduce "sum" %x {dims = array<i64: 1>} : !x -> !r
  func.return %0 : !r
}

// -----

!x = tensor<65x65xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// Uneven parts are ceil blocks of whole sticks: 65 columns are two.

// CHECK-LABEL: @uneven
// CHECK:         division = #spyre.division<array<i64: 13, 2>, array<i64: 0, 1>>
func.func @uneven(%x: !x) -> !x {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>]} : (!x) -> !x {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : !x
}

// -----

!x = tensor<1x1xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// Negative: one element has one owner.

// CHECK-LABEL: @single
// CHECK:         division = #spyre.division<array<i64: 1, 1>, array<i64: 0, 1>>
func.func @single(%x: !x) -> !x {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>]} : (!x) -> !x {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : !x
}

// -----

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// Negative: a division that is there stays.

// CHECK-LABEL: @given
// CHECK:         division = #spyre.division<array<i64: 2, 1>, array<i64: 0, 1>>
func.func @given(%x: !t) -> !t {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 2, 1>, array<i64: 0, 1>>} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : !t
}

// -----

!t = tensor<64x256xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// The sticks of a row lie 8 KB apart. A core that may reach over 8 KB owns one column
// of sticks, though rows alone would keep all cores busy.

module attributes {spyre.chip = "spyre,max_span_bytes=8192"} {
  // CHECK-LABEL: @span
  // CHECK:         division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>
  func.func @span(%x: !t) -> !t {
    %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
    func.return %0 : !t
  }
}

// -----

!a = tensor<8192x32768xf16, #spyre.layout<array<i64: 1, 0, 1>>>
!b = tensor<32768x4096xf16, #spyre.layout<array<i64: 1, 0, 1>>>
!c = tensor<8192x4096xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// The published example: a row of the left operand reaches over 512 MB, twice what a
// core can address, and only cutting the sum in two would bring that down.

func.func @published(%a: !a, %b: !b) -> !c {
  // expected-error@+1 {{spyre.matmul: a core would reach over 536870912 bytes of one tensor and no division brings that to the chip's 268435456; split the tensor}}
  %0 = spyre.matmul %a, %b {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (k, n)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : !a, !b -> !c
  func.return %0 : !c
}

// -----

!t = tensor<64x256xf16>

// A tensor without a layout cannot be divided.

func.func @undecided(%x: !t) -> !t {
  // expected-error@+1 {{spyre.map: tensor<64x256xf16> has no layout; run spyre-plan-layouts first}}
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : !t
}
