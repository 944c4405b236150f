// RUN: spyre-opt %s --split-input-file --verify-diagnostics -o /dev/null

// expected-error@+1 {{only streams}}
dev.program attributes {sym_name = "k0", grid = array<i64: 1>, symbols = 1 : i64, lx_bytes = 1024 : i64, semaphores = array<i64>} {
  dev.loop 2 : i64 {
    dev.transfer {axes = [#dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64, 0 : i64>], source = #dev.access<"dram", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, 0 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, target = #dev.access<"lx", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, waits = [], signals = []}
  }
}

// -----

// expected-error@+1 {{a unit has two streams}}
dev.program attributes {sym_name = "k0", grid = array<i64: 1>, symbols = 1 : i64, lx_bytes = 1024 : i64, semaphores = array<i64>} {
  dev.stream "load" {
    dev.transfer {axes = [#dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64, 0 : i64>], source = #dev.access<"dram", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, 0 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, target = #dev.access<"lx", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, waits = [], signals = []}
  }
  dev.stream "load" {
    dev.transfer {axes = [#dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64, 0 : i64>], source = #dev.access<"dram", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, 0 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, target = #dev.access<"lx", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, waits = [], signals = []}
  }
}

// -----

// expected-error@+1 {{semaphore 3 of 1}}
dev.program attributes {sym_name = "k0", grid = array<i64: 1>, symbols = 1 : i64, lx_bytes = 1024 : i64, semaphores = array<i64: 0>} {
  dev.stream "load" {
    dev.transfer {axes = [#dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64, 0 : i64>], source = #dev.access<"dram", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, 0 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, target = #dev.access<"lx", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, waits = [#dev.sync<3 : i64, 1 : i64, 0 : i64>], signals = []}
  }
}

// -----

// expected-error@+1 {{symbol 0 of 0}}
dev.program attributes {sym_name = "k0", grid = array<i64: 1>, symbols = 0 : i64, lx_bytes = 1024 : i64, semaphores = array<i64>} {
  dev.stream "load" {
    dev.transfer {axes = [#dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64, 0 : i64>], source = #dev.access<"dram", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, 0 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, target = #dev.access<"lx", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, waits = [], signals = []}
  }
}

// -----

// expected-error@+1 {{digit 1 of 1}}
dev.program attributes {sym_name = "k0", grid = array<i64: 1>, symbols = 1 : i64, lx_bytes = 1024 : i64, semaphores = array<i64>} {
  dev.stream "load" {
    dev.transfer {axes = [#dev.axis<64 : i64, 1 : i64, 64 : i64, -1 : i64, 64 : i64, 0 : i64>], source = #dev.access<"dram", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, 0 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, target = #dev.access<"lx", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, waits = [], signals = []}
  }
}

// -----

dev.program attributes {sym_name = "k0", grid = array<i64: 1>, symbols = 1 : i64, lx_bytes = 1024 : i64, semaphores = array<i64>} {
  // expected-error@+1 {{"dma" is none of load, store, ring, pt, sfp}}
  dev.stream "dma" {
    dev.transfer {axes = [#dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64, 0 : i64>], source = #dev.access<"dram", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, 0 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, target = #dev.access<"lx", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, waits = [], signals = []}
  }
}

// -----

dev.program attributes {sym_name = "k0", grid = array<i64: 1>, symbols = 1 : i64, lx_bytes = 1024 : i64, semaphores = array<i64>} {
  // expected-error@+1 {{dev.transfer does not run on pt}}
  dev.stream "pt" {
    dev.transfer {axes = [#dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64, 0 : i64>], source = #dev.access<"dram", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, 0 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, target = #dev.access<"lx", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, waits = [], signals = []}
  }
}

// -----

dev.program attributes {sym_name = "k0", grid = array<i64: 1>, symbols = 1 : i64, lx_bytes = 1024 : i64, semaphores = array<i64>} {
  dev.stream "load" {
    // expected-error@+1 {{0 trips, outside [1, 65535]}}
    dev.loop 0 : i64 {
      dev.transfer {axes = [#dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64, 0 : i64>], source = #dev.access<"dram", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, 0 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, target = #dev.access<"lx", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, waits = [], signals = []}
    }
  }
}

// -----

dev.program attributes {sym_name = "k0", grid = array<i64: 1>, symbols = 1 : i64, lx_bytes = 1024 : i64, semaphores = array<i64>} {
  dev.stream "load" {
    // expected-error@+1 {{axis runs with loop 0 of 0}}
    dev.transfer {axes = [#dev.axis<64 : i64, -1 : i64, 64 : i64, 0 : i64, 64 : i64, 0 : i64>], source = #dev.access<"dram", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, 0 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, target = #dev.access<"lx", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, waits = [], signals = []}
  }
}

// -----

dev.program attributes {sym_name = "k0", grid = array<i64: 1>, symbols = 1 : i64, lx_bytes = 1024 : i64, semaphores = array<i64>} {
  dev.stream "load" {
    // expected-error@+1 {{a transfer changes f16 to f32}}
    dev.transfer {axes = [#dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64, 0 : i64>], source = #dev.access<"dram", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, 0 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, target = #dev.access<"lx", "f32", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, waits = [], signals = []}
  }
}

// -----

dev.program attributes {sym_name = "k0", grid = array<i64: 1>, symbols = 1 : i64, lx_bytes = 1024 : i64, semaphores = array<i64>} {
  dev.stream "load" {
    // expected-error@+1 {{a transfer starts at a stick}}
    dev.transfer {axes = [#dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64, 0 : i64>], source = #dev.access<"dram", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, 0 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, target = #dev.access<"lx", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 3 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, waits = [], signals = []}
  }
}

// -----

dev.program attributes {sym_name = "k0", grid = array<i64: 1>, symbols = 1 : i64, lx_bytes = 1024 : i64, semaphores = array<i64>} {
  dev.stream "load" {
    // expected-error@+1 {{indices are i32 or i64, not f16}}
    dev.gather {axes = [#dev.axis<8 : i64, -1 : i64, 8 : i64, -1 : i64, 8 : i64, 0 : i64>, #dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64, 0 : i64>], source = #dev.access<"dram", "f16", 0 : i64, array<i64: 0, 0>, array<i64: 0, 1>, 64 : i64, 0 : i64, 0 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, index = #dev.access<"lx", "f16", 0 : i64, array<i64: 0, 0>, array<i64: 1, 0>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, target = #dev.access<"lx", "f16", 128 : i64, array<i64: 64, 0>, array<i64: 0, 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, index_stride = 64 : i64, index_stick = 0 : i64, limit = 1000 : i64, waits = [], signals = []}
  }
}

// -----

dev.program attributes {sym_name = "k0", grid = array<i64: 1>, symbols = 1 : i64, lx_bytes = 1024 : i64, semaphores = array<i64>} {
  dev.stream "pt" {
    // expected-error@+1 {{roles "mnx" of 3 axes}}
    dev.matmul {axes = [#dev.axis<8 : i64, -1 : i64, 8 : i64, -1 : i64, 8 : i64, 0 : i64>, #dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64, 0 : i64>, #dev.axis<32 : i64, -1 : i64, 32 : i64, -1 : i64, 32 : i64, 0 : i64>], roles = "mnx", lhs = #dev.access<"lx", "f16", 0 : i64, array<i64: 64, 0, 0>, array<i64: 0, 0, 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, rhs = #dev.access<"lx", "f16", 0 : i64, array<i64: 0, 0, 64>, array<i64: 0, 1, 0>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, out = #dev.access<"lx", "f32", 0 : i64, array<i64: 64, 0, 0>, array<i64: 0, 1, 0>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, acc_level = -1 : i64, waits = [], signals = []}
  }
}

// -----

dev.program attributes {sym_name = "k0", grid = array<i64: 1>, symbols = 1 : i64, lx_bytes = 1024 : i64, semaphores = array<i64>} {
  dev.stream "pt" {
    // expected-error@+1 {{partial sums are f32}}
    dev.matmul {axes = [#dev.axis<8 : i64, -1 : i64, 8 : i64, -1 : i64, 8 : i64, 0 : i64>, #dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64, 0 : i64>, #dev.axis<32 : i64, -1 : i64, 32 : i64, -1 : i64, 32 : i64, 0 : i64>], roles = "mnk", lhs = #dev.access<"lx", "f16", 0 : i64, array<i64: 64, 0, 0>, array<i64: 0, 0, 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, rhs = #dev.access<"lx", "f16", 0 : i64, array<i64: 0, 0, 64>, array<i64: 0, 1, 0>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, out = #dev.access<"lx", "f16", 0 : i64, array<i64: 64, 0, 0>, array<i64: 0, 1, 0>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, acc_level = 0 : i64, waits = [], signals = []}
  }
}

// -----

dev.program attributes {sym_name = "k0", grid = array<i64: 1>, symbols = 1 : i64, lx_bytes = 1024 : i64, semaphores = array<i64>} {
  dev.stream "sfp" {
    // expected-error@+1 {{the card has no function "gamma"}}
    dev.vector {axes = [#dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64, 0 : i64>], inputs = [#dev.access<"lx", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>], steps = [#dev.step<"gamma", array<i64: 0>, "f16", array<i64>>], out = #dev.access<"lx", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, combine = "", fold = array<i64>, acc_level = -1 : i64, waits = [], signals = []}
  }
}

// -----

dev.program attributes {sym_name = "k0", grid = array<i64: 1>, symbols = 1 : i64, lx_bytes = 1024 : i64, semaphores = array<i64>} {
  dev.stream "sfp" {
    // expected-error@+1 {{step exp reads a later value}}
    dev.vector {axes = [#dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64, 0 : i64>], inputs = [#dev.access<"lx", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>], steps = [#dev.step<"exp", array<i64: 4>, "f16", array<i64>>], out = #dev.access<"lx", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, combine = "", fold = array<i64>, acc_level = -1 : i64, waits = [], signals = []}
  }
}

// -----

dev.program attributes {sym_name = "k0", grid = array<i64: 1>, symbols = 1 : i64, lx_bytes = 1024 : i64, semaphores = array<i64>} {
  dev.stream "sfp" {
    // expected-error@+1 {{the card has no reduction "norm"}}
    dev.vector {axes = [#dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64, 0 : i64>], inputs = [#dev.access<"lx", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>], steps = [#dev.step<"exp", array<i64: 0>, "f16", array<i64>>], out = #dev.access<"lx", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, combine = "norm", fold = array<i64>, acc_level = -1 : i64, waits = [], signals = []}
  }
}

// -----

dev.program attributes {sym_name = "k0", grid = array<i64: 1>, symbols = 1 : i64, lx_bytes = 1024 : i64, semaphores = array<i64>} {
  dev.stream "sfp" {
    // expected-error@+1 {{a shuffle changes the element type}}
    dev.shuffle {axes = [#dev.axis<8 : i64, -1 : i64, 8 : i64, -1 : i64, 8 : i64, 0 : i64>, #dev.axis<16 : i64, -1 : i64, 16 : i64, -1 : i64, 16 : i64, 0 : i64>], source = #dev.access<"lx", "f16", 0 : i64, array<i64: 64, 0>, array<i64: 0, 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, target = #dev.access<"lx", "f32", 1024 : i64, array<i64: 0, 64>, array<i64: 1, 0>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, waits = [], signals = []}
  }
}

// -----

dev.program attributes {sym_name = "k0", grid = array<i64: 1>, symbols = 1 : i64, lx_bytes = 1024 : i64, semaphores = array<i64>} {
  dev.stream "ring" {
    // expected-error@+1 {{the card has no reduction "norm"}}
    dev.ring_reduce {axes = [#dev.axis<32 : i64, -1 : i64, 32 : i64, -1 : i64, 32 : i64, 0 : i64>], source = #dev.access<"lx", "f32", 0 : i64, array<i64: 0>, array<i64: 1>, 32 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, target = #dev.access<"lx", "f32", 128 : i64, array<i64: 0>, array<i64: 1>, 32 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, combine = "norm", digits = array<i64: 0>, waits = [], signals = []}
  }
}

// -----

dev.program attributes {sym_name = "k0", grid = array<i64: 1>, symbols = 1 : i64, lx_bytes = 1024 : i64, semaphores = array<i64>} {
  dev.stream "load" {
    // expected-error@+1 {{a DRAM access names a symbol, an LX access none}}
    dev.transfer {axes = [#dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64, 0 : i64>], source = #dev.access<"dram", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, target = #dev.access<"lx", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, waits = [], signals = []}
  }
}

// -----

dev.program attributes {sym_name = "k0", grid = array<i64: 1>, symbols = 1 : i64, lx_bytes = 1024 : i64, semaphores = array<i64>} {
  dev.stream "load" {
    // expected-error@+1 {{space "hbm" is neither dram nor lx}}
    dev.transfer {axes = [#dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64, 0 : i64>], source = #dev.access<"hbm", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, target = #dev.access<"lx", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, waits = [], signals = []}
  }
}
