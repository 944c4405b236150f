// RUN: spyre-opt %s -p spyre-check-plan --split-input-file --verify-diagnostics | filecheck %s

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// Negative: a plan that keeps the limits passes unchanged.

// CHECK-LABEL: @good
// CHECK:         places = [#spyre.place<"lx", 0 : i64>, #spyre.place<"lx", 16384 : i64>]
func.func @good(%x: !t) -> !t {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>, places = [#spyre.place<"lx", 0 : i64>, #spyre.place<"lx", 16384 : i64>]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : !t
}

// -----

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// Negative: buffers that are never in use together may share bytes. The first result
// is done when the third is made.

// CHECK-LABEL: @reuse
// CHECK:         spyre.fn "neg"
func.func @reuse(%x: !t) -> !t {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>, places = [#spyre.place<"lx", 0 : i64>, #spyre.place<"lx", 32768 : i64>]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %1 = spyre.map %0 {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>, places = [#spyre.place<"lx", 8192 : i64>]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "tanh"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %2 = spyre.map %1 {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>, places = [#spyre.place<"lx", 0 : i64>]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "neg"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  %3 = spyre.map %2 {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>, places = [#spyre.place<"lx", 16384 : i64>]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "abs"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %3 : !t
}

// -----

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// More cores than there are.

func.func @cores(%x: !t) -> !t {
  // expected-error@+1 {{spyre.map: divided over 64 cores, the chip has 32}}
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 16, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : !t
}

// -----

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// More parts than sticks.

func.func @parts(%x: !t) -> !t {
  // expected-error@+1 {{spyre.map: iterator 1 of 512 elements in cuts of 64 cannot be divided in 16 parts}}
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 1, 16>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : !t
}

// -----

!t = tensor<5x7x65xf16, #spyre.layout<array<i64: 1, 2, 0, 2>>>

// Three iterators in uneven parts.

func.func @uneven(%x: !t) -> !t {
  // expected-error@+1 {{spyre.map: 3 uneven digits, at most 2}}
  %0 = spyre.map %x {maps = [affine_map<(i, j, k) -> (i, j, k)>], division = #spyre.division<array<i64: 2, 2, 2>, array<i64: 0, 1, 2>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : !t
}

// -----

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>
!r = tensor<256x1xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// A sum has one owner.

func.func @reduction(%x: !t) -> !r {
  // expected-error@+1 {{spyre.reduce: iterator 1 is a reduction and cannot be divided}}
  %0 = spyre.reduce "sum" %x {dims = array<i64: 1>, division = #spyre.division<array<i64: 4, 2>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>} : !t -> !r
  func.return %0 : !r
}

// -----

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// More trips than there are sticks on a core: it has two.

func.func @trips(%x: !t) -> !t {
  // expected-error@+1 {{spyre.map: iterator 1 has 128 elements on a core in cuts of 64, not 4 trips}}
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[array<i64: 1, 4>], 2 : i64>} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : !t
}

// -----

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// More trips than the loop counter counts.

module attributes {spyre.chip = "spyre,max_loop_trips=16"} {
func.func @counter(%x: !t) -> !t {
  // expected-error@+1 {{spyre.map: a loop of 32 trips, at most 16}}
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[array<i64: 0, 32>], 2 : i64>} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : !t
}
}

// -----

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// A stretch of DRAM that one core cannot address: eight sticks of each row, 32 KB
// apart.

module attributes {spyre.chip = "spyre,max_span_bytes=65536"} {
func.func @span(%x: !t) -> !t {
  // expected-error@+1 {{spyre.map: a core reaches over 230400 bytes of one tensor, at most 65536}}
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 32, 1>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : !t
}
}

// -----

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// A buffer beyond the scratchpad.

func.func @beyond(%x: !t) -> !t {
  // expected-error@+1 {{spyre.map: its stage buffer ends at byte 2039808 of the scratchpad, which has 2031616}}
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>, places = [#spyre.place<"lx", 0 : i64>, #spyre.place<"lx", 2031616 : i64>]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : !t
}

// -----

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// Buffers that overlap while both are in use: 32 rows of two sticks take 8 KB.

func.func @overlap(%x: !t) -> !t {
  // expected-error@+1 {{spyre.map: its stage buffer at byte 4096 overlaps the result buffer of spyre.map at byte 0 while both are in use}}
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>, places = [#spyre.place<"lx", 0 : i64>, #spyre.place<"lx", 4096 : i64>]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : !t
}

// -----

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// One division for all of a group.

func.func @grid(%x: !t) -> !t {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>, places = [#spyre.place<"lx", 0 : i64>, #spyre.place<"lx", 8192 : i64>]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  // expected-error@+1 {{spyre.map: divided over [4, 8], its group over [8, 4]}}
  %1 = spyre.map %0 {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 4, 8>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>, places = [#spyre.place<"lx", 16384 : i64>]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "tanh"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %1 : !t
}
