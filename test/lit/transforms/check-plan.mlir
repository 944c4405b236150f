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

// -----

!t = tensor<256x2048xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// The same grid over other iterators: a core would read what others made.

func.func @owners(%x: !t) -> !t {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 32, 1>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>, places = [#spyre.place<"lx", 0 : i64>, #spyre.place<"lx", 32768 : i64>]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  // expected-error@+1 {{spyre.map: reads other parts of a value than its group makes: dimension 0: a core makes [0, 256), 8 to each value of digit 0; reads [0, 256)}}
  %1 = spyre.map %0 {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 1, 32>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[], 2 : i64>, places = [#spyre.place<"lx", 65536 : i64>]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "tanh"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %1 : !t
}

// -----

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// Members of a group go through the same loops: not one more often than the other.

func.func @loops(%x: !t) -> !t {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[array<i64: 0, 4>], 1 : i64>, places = [#spyre.place<"lx", 0 : i64>, #spyre.place<"lx", 8192 : i64>]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  // expected-error@+1 {{spyre.map: loops of [2] trips, its group has [4]}}
  %1 = spyre.map %0 {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[array<i64: 0, 2>], 1 : i64>, places = [#spyre.place<"lx", 16384 : i64>]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "tanh"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %1 : !t
}

// -----

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// The same trips over another iterator.

func.func @other_loop(%x: !t) -> !t {
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[array<i64: 0, 2>], 1 : i64>, places = [#spyre.place<"lx", 0 : i64>, #spyre.place<"lx", 8192 : i64>]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  // expected-error@+1 {{spyre.map: reads other parts of a value than its group makes: dimension 0: a core makes [0, 256), 32 to each value of digit 0, 16 in each trip of loop 0; reads [0, 256), 32 to each value of digit 0}}
  %1 = spyre.map %0 {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[array<i64: 1, 2>], 1 : i64>, places = [#spyre.place<"lx", 16384 : i64>]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "tanh"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %1 : !t
}

// -----

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>
!r = tensor<256x1xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// A loop over what is folded goes inside of the group's loops.

func.func @outside(%x: !t) -> !r {
  // expected-error@+1 {{spyre.reduce: its loop over iterator 1, which is summed or folded, stands outside of another loop}}
  %0 = spyre.reduce "sum" %x {dims = array<i64: 1>, division = #spyre.division<array<i64: 4, 1>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[array<i64: 1, 2>, array<i64: 0, 2>], 2 : i64>} : !t -> !r
  func.return %0 : !r
}

// -----

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// A loop that nothing depends on.

func.func @idle_loop(%x: !t) -> !t {
  // expected-error@+1 {{spyre.map: loop 0 of 9 trips is over no iterator of its group}}
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], division = #spyre.division<array<i64: 8, 4>, array<i64: 0, 1>>, group = 0 : i64, tile = #spyre.tile<[array<i64: -1, 9>], 2 : i64>} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : !t
}

// -----

!t = tensor<256x512xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// A group is one run of operations.

func.func @again(%x: !t) -> (!t, !t) {
  %0 = spyre.full 1.0 : f16 {group = 0 : i64, places = [#spyre.place<"lx", 0 : i64>]} -> !t
  %1 = spyre.full 2.0 : f16 {group = 1 : i64, places = [#spyre.place<"lx", 0 : i64>]} -> !t
  // expected-error@+1 {{spyre.map: group 0 goes on after something that is not of it}}
  %2 = spyre.map %0 {maps = [affine_map<(i, j) -> (i, j)>], group = 0 : i64} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %1, %2 : !t, !t
}

// -----

!t = tensor<64x64xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// Each buffer has a place, and there are no others.

func.func @places(%x: !t) -> !t {
  // expected-error@+1 {{spyre.map: 1 places for 2 buffers (result, stage)}}
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], places = [#spyre.place<"lx", 0 : i64>]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : !t
}

// -----

!t = tensor<64x64xf16, #spyre.layout<array<i64: 1, 0, 1>>>

func.func @no_places(%x: !t) -> !t {
  // expected-error@+1 {{spyre.map: its result buffer has no place; run spyre-plan-places}}
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : !t
}

// -----

!t = tensor<64x64xf16, #spyre.layout<array<i64: 1, 0, 1>>>

func.func @space(%x: !t) -> !t {
  // expected-error@+1 {{spyre.map: a place in "dram": places are of scratchpad buffers, in "lx"}}
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], places = [#spyre.place<"dram", 0 : i64>, #spyre.place<"lx", 0 : i64>]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : !t
}

// -----

!t = tensor<64x64xf16, #spyre.layout<array<i64: 1, 0, 1>>>

// Ways that nothing goes.

func.func @ring(%x: !t) -> !t {
  // expected-error@+1 {{spyre.map: operand 0 via "ring": cores exchange through DRAM only}}
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>], via = ["ring"]} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %0 : !t
}

// -----

!t = tensor<64x64xf16, #spyre.layout<array<i64: 1, 0, 1>>>

func.func @not_dram(%x: !t) -> !t {
  %0 = spyre.full 1.0 : f16 {group = 0 : i64} -> !t
  // expected-error@+1 {{spyre.map: operand 0 via "dram": its group keeps it in the scratchpad}}
  %1 = spyre.map %0 {maps = [affine_map<(i, j) -> (i, j)>], via = ["dram"], group = 0 : i64} : (!t) -> !t {
  ^bb0(%a: f16):
    %b = spyre.fn "exp"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return %1 : !t
}

// -----

!t = tensor<8x64xf16, #spyre.layout<array<i64: 1, 0, 1>>>
!i = tensor<8xi64, #spyre.layout<array<i64: 0, 0>>>

// A gather looks up in DRAM what its group has in the scratchpad.

func.func @gather(%i: !i) -> !t {
  %0 = spyre.full 1.0 : f16 {group = 0 : i64} -> !t
  // expected-error@+1 {{spyre.gather: looks up rows in DRAM that its group makes}}
  %1 = spyre.gather %0, %i {axis = 0 : i64, source_map = affine_map<(d0, d1) -> (0, d1)>, index_map = affine_map<(d0, d1) -> (d0)>, group = 0 : i64} : !t, !i -> !t
  func.return %1 : !t
}
