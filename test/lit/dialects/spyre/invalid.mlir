// RUN: spyre-opt %s --split-input-file --verify-diagnostics -o /dev/null

func.func @summed_alone(%a: tensor<64x128xf16>, %b: tensor<32xf16>) {
  // expected-error@+1 {{iterator 2 is summed over one operand alone; reduce it first}}
  %0 = spyre.matmul %a, %b {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : tensor<64x128xf16>, tensor<32xf16> -> tensor<64x32xf32>
  func.return
}

// -----

func.func @mixed(%a: tensor<64x128xf16>, %b: tensor<32x128xf32>) {
  // expected-error@+1 {{matmul of f16 and f32: takes one float type}}
  %0 = spyre.matmul %a, %b {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : tensor<64x128xf16>, tensor<32x128xf32> -> tensor<64x32xf32>
  func.return
}

// -----

func.func @sizes(%a: tensor<64x128xf16>, %b: tensor<32x100xf16>) {
  // expected-error@+1 {{iterator 2 has size 128 and size 100}}
  %0 = spyre.matmul %a, %b {lhs_map = affine_map<(m, n, k) -> (m, k)>,
    rhs_map = affine_map<(m, n, k) -> (n, k)>, result_map = affine_map<(m, n, k) -> (m, n)>}
    : tensor<64x128xf16>, tensor<32x100xf16> -> tensor<64x32xf32>
  func.return
}

// -----

func.func @element(%a: tensor<64xf64>) {
  // expected-error@+1 {{element type f64 is none of f16, bf16, f32, i32, i64, i1}}
  %0 = spyre.reduce "sum" %a {dims = array<i64: 0>} : tensor<64xf64> -> tensor<1xf64>
  func.return
}

// -----

func.func @unknown_function(%x: tensor<64xf16>) {
  %0 = spyre.map %x {maps = [affine_map<(i) -> (i)>]} : (tensor<64xf16>) -> tensor<64xf16> {
  ^bb0(%a: f16):
    // expected-error@+1 {{the card has no function "gamma"}}
    %b = spyre.fn "gamma"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return
}

// -----

func.func @arity(%x: tensor<64xf16>) {
  %0 = spyre.map %x {maps = [affine_map<(i) -> (i)>]} : (tensor<64xf16>) -> tensor<64xf16> {
  ^bb0(%a: f16):
    // expected-error@+1 {{"add" takes 2 operands, not 1}}
    %b = spyre.fn "add"(%a) : (f16) -> f16
    spyre.yield %b : f16
  }
  func.return
}

// -----

func.func @choice(%x: tensor<64xf16>) {
  %0 = spyre.map %x {maps = [affine_map<(i) -> (i)>]} : (tensor<64xf16>) -> tensor<64xf16> {
  ^bb0(%a: f16):
    // expected-error@+1 {{"where" chooses by i1, not f16}}
    %b = spyre.fn "where"(%a, %a, %a) : (f16, f16, f16) -> f16
    spyre.yield %b : f16
  }
  func.return
}

// -----

func.func @predicate(%x: tensor<64xf16>) {
  %0 = spyre.map %x {maps = [affine_map<(i) -> (i)>]} : (tensor<64xf16>) -> tensor<64xf16> {
  ^bb0(%a: f16):
    // expected-error@+1 {{"lt" gives i1, not f16}}
    %b = spyre.fn "lt"(%a, %a) : (f16, f16) -> f16
    spyre.yield %b : f16
  }
  func.return
}

// -----

func.func @constant(%x: tensor<64xf16>) {
  %0 = spyre.map %x {maps = [affine_map<(i) -> (i)>]} : (tensor<64xf16>) -> tensor<64xf16> {
  ^bb0(%a: f16):
    // expected-error@+1 {{1.000000e+00 : f32 does not have type f16}}
    %b = spyre.constant 1.0 : f32 -> f16
    spyre.yield %b : f16
  }
  func.return
}

// -----

func.func @yielded(%x: tensor<64xf16>) {
  // expected-error@+1 {{the body yields f16, the result holds f32}}
  %0 = spyre.map %x {maps = [affine_map<(i) -> (i)>]} : (tensor<64xf16>) -> tensor<64xf32> {
  ^bb0(%a: f16):
    spyre.yield %a : f16
  }
  func.return
}

// -----

func.func @maps(%x: tensor<64xf16>) {
  // expected-error@+1 {{2 maps for 1 operands}}
  %0 = spyre.map %x {maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} : (tensor<64xf16>) -> tensor<64xf16> {
  ^bb0(%a: f16):
    spyre.yield %a : f16
  }
  func.return
}

// -----

func.func @broadcast(%x: tensor<64xf16>) {
  // expected-error@+1 {{a broadcast dimension has size 64}}
  %0 = spyre.map %x {maps = [affine_map<(i) -> (0)>]} : (tensor<64xf16>) -> tensor<64xf16> {
  ^bb0(%a: f16):
    spyre.yield %a : f16
  }
  func.return
}

// -----

func.func @kept_size(%x: tensor<4x100xf16>) {
  // expected-error@+1 {{of size 1}}
  %0 = spyre.reduce "sum" %x {dims = array<i64: 1>} : tensor<4x100xf16> -> tensor<4x100xf16>
  func.return
}

// -----

func.func @beyond(%x: tensor<4x100xf16>) {
  // expected-error@+1 {{piece 0: dimension 1 runs over [1, 100], the tensor has size 100}}
  %0 = spyre.reindex %x {sizes = array<i64: 4, 100>, extra = [array<i64>],
    source_maps = [affine_map<(i, j) -> (i, j + 1)>], target_maps = [affine_map<(i, j) -> (i, j)>]}
    : (tensor<4x100xf16>) -> tensor<4x100xf16>
  func.return
}

// -----

func.func @pieces(%x: tensor<4x100xf16>) {
  // expected-error@+1 {{pieces do not match 1 operands}}
  %0 = spyre.reindex %x {sizes = array<i64: 4, 100>, extra = [],
    source_maps = [affine_map<(i, j) -> (i, j)>], target_maps = [affine_map<(i, j) -> (i, j)>]}
    : (tensor<4x100xf16>) -> tensor<4x100xf16>
  func.return
}

// -----

func.func @index_type(%t: tensor<1000x384xf16>, %i: tensor<32xf16>) {
  // expected-error@+1 {{indices are i32 or i64, not tensor<32xf16>}}
  %0 = spyre.gather %t, %i {axis = 0 : i64, source_map = affine_map<(r, c) -> (0, c)>,
    index_map = affine_map<(r, c) -> (r)>}
    : tensor<1000x384xf16>, tensor<32xf16> -> tensor<32x384xf16>
  func.return
}

// -----

func.func @gathered(%t: tensor<1000x384xf16>, %i: tensor<32xi64>) {
  // expected-error@+1 {{source_map must give 0 at the gathered axis}}
  %0 = spyre.gather %t, %i {axis = 0 : i64, source_map = affine_map<(r, c) -> (r, c)>,
    index_map = affine_map<(r, c) -> (r)>}
    : tensor<1000x384xf16>, tensor<32xi64> -> tensor<32x384xf16>
  func.return
}

// -----

func.func @full() {
  // expected-error@+1 {{0 : i64 is no element of tensor<4xf16>}}
  %0 = spyre.full 0 : i64 -> tensor<4xf16>
  func.return
}

// -----

func.func @counted() {
  // expected-error@+1 {{dim 1 of tensor<100xi64>}}
  %0 = spyre.iota {dim = 1 : i64, start = 0 : i64, step = 1 : i64} : tensor<100xi64>
  func.return
}

// -----

func.func @layout(%x: tensor<4x100xf16>) {
  // expected-error@+1 {{layout [0, 0] does not fit rank 2}}
  %0 = spyre.full 0.0 : f16 -> tensor<4x100xf16, #spyre.layout<array<i64: 0, 0>>>
  func.return
}

// -----

func.func @division() {
  // expected-error@+1 {{division has 1 parts for 2 iterators}}
  %0 = spyre.full 0.0 : f16 {division = #spyre.division<array<i64: 4>, array<i64: 0>>} -> tensor<4x100xf16>
  func.return
}

// -----

func.func @digits() {
  // expected-error@+1 {{digit order [0, 0] is no permutation of 2 iterators}}
  %0 = spyre.full 0.0 : f16 {division = #spyre.division<array<i64: 4, 1>, array<i64: 0, 0>>} -> tensor<4x100xf16>
  func.return
}

// -----

func.func @tile() {
  // expected-error@+1 {{tile names iterator 2 of 2}}
  %0 = spyre.full 0.0 : f16 {tile = #spyre.tile<[array<i64: 2, 8>], 1 : i64>} -> tensor<4x100xf16>
  func.return
}

// -----

func.func @place() {
  // expected-error@+1 {{address 100 is not a stick's: a multiple of 128}}
  %0 = spyre.full 0.0 : f16 {places = [#spyre.place<"lx", 100 : i64>]} -> tensor<4x100xf16>
  func.return
}

// -----

func.func @limits(%a: tensor<64xf16>) {
  // expected-error@+1 {{2 limits of 1 shared iterators for 1 pieces}}
  %0 = spyre.reindex %a {sizes = array<i64: 64>, extra = [array<i64>],
    source_maps = [affine_map<(d0) -> (d0)>], target_maps = [affine_map<(d0) -> (d0)>],
    limits = array<i64: 64, 64>} : (tensor<64xf16>) -> tensor<64xf16>
  func.return
}

// -----

func.func @long_limit(%a: tensor<64xf16>) {
  // expected-error@+1 {{limit 65 of an iterator of 64 elements}}
  %0 = spyre.reindex %a {sizes = array<i64: 64>, extra = [array<i64>],
    source_maps = [affine_map<(d0) -> (d0)>], target_maps = [affine_map<(d0) -> (d0)>],
    limits = array<i64: 65>} : (tensor<64xf16>) -> tensor<64xf16>
  func.return
}

// -----

func.func @stepping_limit(%a: tensor<64xf16>) {
  // expected-error@+1 {{piece 0: iterator 0 has limits, but does not step along one dimension of the result by one}}
  %0 = spyre.reindex %a {sizes = array<i64: 64>, extra = [array<i64>],
    source_maps = [affine_map<(d0) -> (d0)>], target_maps = [affine_map<(d0) -> (d0 * 2)>],
    limits = array<i64: 64>} : (tensor<64xf16>) -> tensor<128xf16>
  func.return
}

// -----

func.func @open_size(%x: tensor<4x?xf16>) -> tensor<4x?xf16> {
  // expected-error@+1 {{tensor<4x?xf16> has an open size}}
  %0 = spyre.map %x {maps = [affine_map<(i, j) -> (i, j)>]} : (tensor<4x?xf16>) -> tensor<4x?xf16> {
  ^bb0(%a: f16):
    spyre.yield %a : f16
  }
  func.return %0 : tensor<4x?xf16>
}
