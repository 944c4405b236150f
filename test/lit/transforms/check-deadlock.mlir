// RUN: not spyre-opt %s -p spyre-check-deadlock --split-input-file -o /dev/null 2>&1 | filecheck %s

// A double buffer: the load runs two trips ahead. Nothing is wrong.

// CHECK-NOT: "balanced"

#four = #dev.axis<4 : i64, -1 : i64, 4 : i64, -1 : i64, 4 : i64, 0 : i64>
#dram = #dev.access<"dram", "f16", 0 : i64, array<i64: 64>, array<i64: 0>, 0 : i64, 0 : i64, 0 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>
#lx = #dev.access<"lx", "f16", 0 : i64, array<i64: 64>, array<i64: 0>, 0 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 2 : i64, 512 : i64, 1 : i64>

dev.program attributes {sym_name = "balanced", grid = array<i64: 1>, symbols = 1 : i64, lx_bytes = 1024 : i64, semaphores = array<i64: 0, 2>} {
  dev.stream "load" {
    dev.loop 1000 : i64 {
      dev.transfer {axes = [#four], source = #dram, target = #lx, waits = [#dev.sync<1 : i64, 1 : i64, 1 : i64>], signals = [#dev.sync<0 : i64, 1 : i64, 1 : i64>]}
    }
  }
  dev.stream "store" {
    dev.loop 1000 : i64 {
      dev.transfer {axes = [#four], source = #lx, target = #dram, waits = [#dev.sync<0 : i64, 1 : i64, 1 : i64>], signals = [#dev.sync<1 : i64, 1 : i64, 1 : i64>]}
    }
  }
}

// -----

// The load waits for a free slot that only the store gives, which waits for the load.

// CHECK:      error: deadlock in program "stuck" (spyre-check-deadlock)
// CHECK-NEXT: load waits at dev.transfer (check-deadlock.mlir:[[#]]) for semaphore 1, which dev.transfer (check-deadlock.mlir:[[#]]) signals
// CHECK-NEXT: store waits at dev.transfer (check-deadlock.mlir:[[#]]) for semaphore 0, which dev.transfer (check-deadlock.mlir:[[#]]) signals

#four = #dev.axis<4 : i64, -1 : i64, 4 : i64, -1 : i64, 4 : i64, 0 : i64>
#dram = #dev.access<"dram", "f16", 0 : i64, array<i64: 64>, array<i64: 0>, 0 : i64, 0 : i64, 0 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>
#lx = #dev.access<"lx", "f16", 0 : i64, array<i64: 64>, array<i64: 0>, 0 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>

dev.program attributes {sym_name = "stuck", grid = array<i64: 1>, symbols = 1 : i64, lx_bytes = 1024 : i64, semaphores = array<i64: 0, 0>} {
  dev.stream "load" {
    dev.loop 8 : i64 {
      dev.transfer {axes = [#four], source = #dram, target = #lx, waits = [#dev.sync<1 : i64, 1 : i64, 1 : i64>], signals = [#dev.sync<0 : i64, 1 : i64, 1 : i64>]}
    }
  }
  dev.stream "store" {
    dev.loop 8 : i64 {
      dev.transfer {axes = [#four], source = #lx, target = #dram, waits = [#dev.sync<0 : i64, 1 : i64, 1 : i64>], signals = [#dev.sync<1 : i64, 1 : i64, 1 : i64>]}
    }
  }
}

// -----

// A signal that is never made.

// CHECK:      error: deadlock in program "silent" (spyre-check-deadlock)
// CHECK-NEXT: store waits at dev.transfer (check-deadlock.mlir:[[#]]) for semaphore 0, which nothing signals

#four = #dev.axis<4 : i64, -1 : i64, 4 : i64, -1 : i64, 4 : i64, 0 : i64>
#dram = #dev.access<"dram", "f16", 0 : i64, array<i64: 64>, array<i64: 0>, 0 : i64, 0 : i64, 0 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>
#lx = #dev.access<"lx", "f16", 0 : i64, array<i64: 64>, array<i64: 0>, 0 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>

dev.program attributes {sym_name = "silent", grid = array<i64: 1>, symbols = 1 : i64, lx_bytes = 1024 : i64, semaphores = array<i64: 0>} {
  dev.stream "load" {
    dev.transfer {axes = [#four], source = #dram, target = #lx, waits = [], signals = []}
  }
  dev.stream "store" {
    dev.transfer {axes = [#four], source = #lx, target = #dram, waits = [#dev.sync<0 : i64, 1 : i64, 0 : i64>], signals = []}
  }
}

// -----

// A semaphore that holds more each time the program has run.

// CHECK:      error: semaphores of program "growing" are out of balance (spyre-check-deadlock)
// CHECK-NEXT: semaphore 0 is signalled 12 times and waited for 6 times, by dev.transfer (check-deadlock.mlir:[[#]]), dev.transfer (check-deadlock.mlir:[[#]])

#four = #dev.axis<4 : i64, -1 : i64, 4 : i64, -1 : i64, 4 : i64, 0 : i64>
#dram = #dev.access<"dram", "f16", 0 : i64, array<i64: 64>, array<i64: 0>, 0 : i64, 0 : i64, 0 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>
#lx = #dev.access<"lx", "f16", 0 : i64, array<i64: 64>, array<i64: 0>, 0 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>

dev.program attributes {sym_name = "growing", grid = array<i64: 1>, symbols = 1 : i64, lx_bytes = 1024 : i64, semaphores = array<i64: 0>} {
  dev.stream "load" {
    dev.loop 6 : i64 {
      dev.transfer {axes = [#four], source = #dram, target = #lx, waits = [], signals = [#dev.sync<0 : i64, 2 : i64, 1 : i64>]}
    }
  }
  dev.stream "store" {
    dev.loop 6 : i64 {
      dev.transfer {axes = [#four], source = #lx, target = #dram, waits = [#dev.sync<0 : i64, 1 : i64, 1 : i64>], signals = []}
    }
  }
}

// -----

// Partners of different loops are followed trip by trip: three stores for each two loads.

// CHECK-NOT: "uneven"

#four = #dev.axis<4 : i64, -1 : i64, 4 : i64, -1 : i64, 4 : i64, 0 : i64>
#dram = #dev.access<"dram", "f16", 0 : i64, array<i64: 64>, array<i64: 0>, 0 : i64, 0 : i64, 0 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>
#lx = #dev.access<"lx", "f16", 0 : i64, array<i64: 64>, array<i64: 0>, 0 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>

dev.program attributes {sym_name = "uneven", grid = array<i64: 1>, symbols = 1 : i64, lx_bytes = 1024 : i64, semaphores = array<i64: 0>} {
  dev.stream "load" {
    dev.loop 8 : i64 {
      dev.transfer {axes = [#four], source = #dram, target = #lx, waits = [], signals = [#dev.sync<0 : i64, 3 : i64, 1 : i64>]}
    }
  }
  dev.stream "store" {
    dev.loop 12 : i64 {
      dev.transfer {axes = [#four], source = #lx, target = #dram, waits = [#dev.sync<0 : i64, 2 : i64, 1 : i64>], signals = []}
    }
  }
}
