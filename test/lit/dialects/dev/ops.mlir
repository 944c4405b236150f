// RUN: spyre-opt %s | filecheck %s
// RUN: spyre-opt %s | spyre-opt | filecheck %s
// RUN: spyre-opt %s --print-op-generic | spyre-opt | filecheck %s

// Every record, on a unit that runs it; a loop; semaphores.

// CHECK:      dev.program attributes {sym_name = "k0", grid = array<i64: 4>, symbols = 1 : i64, lx_bytes = 1024 : i64, semaphores = array<i64: 0, 2>} {
// CHECK-NEXT:   dev.stream "load" {
// CHECK-NEXT:     dev.loop 8 : i64 {
// CHECK-NEXT:       dev.transfer {axes = [#dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64, 0 : i64>], source = #dev.access<"dram", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, 0 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, target = #dev.access<"lx", {{.*}}>, waits = [#dev.sync<1 : i64, 1 : i64, 1 : i64>], signals = [#dev.sync<0 : i64, 1 : i64, 1 : i64>]}
// CHECK-NEXT:     }
// CHECK-NEXT:     dev.gather
// CHECK:        dev.stream "pt" {
// CHECK-NEXT:     dev.matmul {axes = {{.*}}, roles = "mnk"
// CHECK:        dev.stream "sfp" {
// CHECK-NEXT:     dev.vector {{.*}} steps = [#dev.step<"exp", array<i64: 0>, "f16", array<i64>>]
// CHECK-NEXT:     dev.shuffle
// CHECK:        dev.stream "ring" {
// CHECK-NEXT:     dev.ring_reduce {{.*}} combine = "sum", digits = array<i64: 0>

// A function calls programs with the tensors whose addresses are their symbols.

// CHECK:      dev.call @k0(%{{.*}}) : (tensor<64xf16>) -> tensor<64xf16>
dev.program attributes {sym_name = "k0", grid = array<i64: 4>, symbols = 1 : i64, lx_bytes = 1024 : i64, semaphores = array<i64: 0, 2>} {
  dev.stream "load" {
    dev.loop 8 : i64 {
      dev.transfer {axes = [#dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64, 0 : i64>], source = #dev.access<"dram", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, 0 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, target = #dev.access<"lx", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, waits = [#dev.sync<1 : i64, 1 : i64, 1 : i64>], signals = [#dev.sync<0 : i64, 1 : i64, 1 : i64>]}
    }
    dev.gather {axes = [#dev.axis<8 : i64, -1 : i64, 8 : i64, -1 : i64, 8 : i64, 0 : i64>, #dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64, 0 : i64>], source = #dev.access<"dram", "f16", 0 : i64, array<i64: 0, 0>, array<i64: 0, 1>, 64 : i64, 0 : i64, 0 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, index = #dev.access<"lx", "i64", 0 : i64, array<i64: 0, 0>, array<i64: 1, 0>, 16 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, target = #dev.access<"lx", "f16", 128 : i64, array<i64: 64, 0>, array<i64: 0, 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, index_stride = 64 : i64, index_stick = 0 : i64, limit = 1000 : i64, waits = [], signals = []}
  }
  dev.stream "pt" {
    dev.matmul {axes = [#dev.axis<8 : i64, -1 : i64, 8 : i64, -1 : i64, 8 : i64, 0 : i64>, #dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64, 0 : i64>, #dev.axis<32 : i64, -1 : i64, 32 : i64, -1 : i64, 32 : i64, 0 : i64>], roles = "mnk", lhs = #dev.access<"lx", "f16", 0 : i64, array<i64: 64, 0, 0>, array<i64: 0, 0, 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, rhs = #dev.access<"lx", "f16", 0 : i64, array<i64: 0, 0, 64>, array<i64: 0, 1, 0>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, out = #dev.access<"lx", "f32", 0 : i64, array<i64: 64, 0, 0>, array<i64: 0, 1, 0>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, acc_level = -1 : i64, waits = [], signals = []}
  }
  dev.stream "sfp" {
    dev.vector {axes = [#dev.axis<64 : i64, -1 : i64, 64 : i64, -1 : i64, 64 : i64, 0 : i64>], inputs = [#dev.access<"lx", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>], steps = [#dev.step<"exp", array<i64: 0>, "f16", array<i64>>], out = #dev.access<"lx", "f16", 0 : i64, array<i64: 0>, array<i64: 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, combine = "", fold = array<i64>, acc_level = -1 : i64, waits = [], signals = []}
    dev.shuffle {axes = [#dev.axis<8 : i64, -1 : i64, 8 : i64, -1 : i64, 8 : i64, 0 : i64>, #dev.axis<16 : i64, -1 : i64, 16 : i64, -1 : i64, 16 : i64, 0 : i64>], source = #dev.access<"lx", "f16", 0 : i64, array<i64: 64, 0>, array<i64: 0, 1>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, target = #dev.access<"lx", "f16", 1024 : i64, array<i64: 0, 64>, array<i64: 1, 0>, 64 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, waits = [], signals = []}
  }
  dev.stream "ring" {
    dev.ring_reduce {axes = [#dev.axis<32 : i64, -1 : i64, 32 : i64, -1 : i64, 32 : i64, 0 : i64>], source = #dev.access<"lx", "f32", 0 : i64, array<i64: 0>, array<i64: 1>, 32 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, target = #dev.access<"lx", "f32", 128 : i64, array<i64: 0>, array<i64: 1>, 32 : i64, 0 : i64, -1 : i64, array<i64>, array<i64>, 1 : i64, 0 : i64, 0 : i64>, combine = "sum", digits = array<i64: 0>, waits = [], signals = []}
  }
}

func.func @main(%x: tensor<64xf16>) -> tensor<64xf16> {
  %0 = dev.call @k0(%x) : (tensor<64xf16>) -> tensor<64xf16>
  func.return %0 : tensor<64xf16>
}
