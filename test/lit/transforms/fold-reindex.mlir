// RUN: spyre-opt %s -p spyre-fold-reindex,dce --split-input-file | filecheck %s
// RUN: spyre-opt %s -p spyre-fold-reindex,dce,spyre-fold-reindex,dce --split-input-file | filecheck %s

// A transpose of a transpose is nothing.

// CHECK-LABEL: @there_and_back
// CHECK-SAME:    (%[[X:.*]]: tensor<4x100xf16>)
// CHECK-NOT:     spyre.reindex
// CHECK:         func.return %[[X]]
func.func @there_and_back(%x: tensor<4x100xf16>) -> tensor<4x100xf16> {
  %0 = spyre.reindex %x {sizes = array<i64: 4, 100>, extra = [array<i64>],
    source_maps = [affine_map<(a, b) -> (a, b)>], target_maps = [affine_map<(a, b) -> (b, a)>]}
    : (tensor<4x100xf16>) -> tensor<100x4xf16>
  %1 = spyre.reindex %0 {sizes = array<i64: 100, 4>, extra = [array<i64>],
    source_maps = [affine_map<(a, b) -> (a, b)>], target_maps = [affine_map<(a, b) -> (b, a)>]}
    : (tensor<100x4xf16>) -> tensor<4x100xf16>
  func.return %1 : tensor<4x100xf16>
}

// -----

// Heads: a reshape and a permutation are one movement.

// CHECK-LABEL: @heads
// CHECK-SAME:    (%[[X:.*]]: tensor<8x384xf16>)
// CHECK:         %[[Y:.*]] = spyre.reindex %[[X]]
// CHECK-SAME:      sizes = array<i64: 12, 8, 32>
// CHECK-SAME:      source_maps = [affine_map<(d0, d1, d2) -> (d1, ((d0 * 32) + d2))>]
// CHECK-NOT:     spyre.reindex
// CHECK:         func.return %[[Y]]
func.func @heads(%x: tensor<8x384xf16>) -> tensor<12x8x32xf16> {
  %0 = spyre.reindex %x {sizes = array<i64: 8, 12, 32>, extra = [array<i64>],
    source_maps = [affine_map<(t, h, d) -> (t, h * 32 + d)>],
    target_maps = [affine_map<(t, h, d) -> (t, h, d)>]} : (tensor<8x384xf16>) -> tensor<8x12x32xf16>
  %1 = spyre.reindex %0 {sizes = array<i64: 8, 12, 32>, extra = [array<i64>],
    source_maps = [affine_map<(t, h, d) -> (t, h, d)>],
    target_maps = [affine_map<(t, h, d) -> (h, t, d)>]} : (tensor<8x12x32xf16>) -> tensor<12x8x32xf16>
  func.return %1 : tensor<12x8x32xf16>
}

// -----

// And back: the iterators of heads and of their elements, used as one number, join.

// CHECK-LABEL: @reshape_twice
// CHECK-SAME:    (%[[X:.*]]: tensor<8x384xf16>)
// CHECK-NEXT:    func.return %[[X]]
func.func @reshape_twice(%x: tensor<8x384xf16>) -> tensor<8x384xf16> {
  %0 = spyre.reindex %x {sizes = array<i64: 8, 12, 32>, extra = [array<i64>],
    source_maps = [affine_map<(t, h, d) -> (t, h * 32 + d)>],
    target_maps = [affine_map<(t, h, d) -> (t, h, d)>]} : (tensor<8x384xf16>) -> tensor<8x12x32xf16>
  %1 = spyre.reindex %0 {sizes = array<i64: 8, 12, 32>, extra = [array<i64>],
    source_maps = [affine_map<(t, h, d) -> (t, h, d)>],
    target_maps = [affine_map<(t, h, d) -> (t, h * 32 + d)>]} : (tensor<8x12x32xf16>) -> tensor<8x384xf16>
  func.return %1 : tensor<8x384xf16>
}

// -----

// A slice of a concatenation reads the part that it lies in.

// CHECK-LABEL: @slice_of_cat
// CHECK-SAME:    (%[[A:.*]]: tensor<4x10xf16>, %[[B:.*]]: tensor<4x20xf16>)
// CHECK-NEXT:    spyre.reindex %[[B]]
// CHECK-SAME:      source_maps = [affine_map<(d0, d1) -> (d0, (d1 + 2))>]
// CHECK-NEXT:    func.return
func.func @slice_of_cat(%a: tensor<4x10xf16>, %b: tensor<4x20xf16>) -> tensor<4x5xf16> {
  %0 = spyre.reindex %a, %b {sizes = array<i64: 4>, extra = [array<i64: 10>, array<i64: 20>],
    source_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    target_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j + 10)>]}
    : (tensor<4x10xf16>, tensor<4x20xf16>) -> tensor<4x30xf16>
  %1 = spyre.reindex %0 {sizes = array<i64: 4, 5>, extra = [array<i64>],
    source_maps = [affine_map<(i, j) -> (i, j + 12)>], target_maps = [affine_map<(i, j) -> (i, j)>]}
    : (tensor<4x30xf16>) -> tensor<4x5xf16>
  func.return %1 : tensor<4x5xf16>
}

// -----

// The parts of a split, concatenated again, are the whole.

// CHECK-LABEL: @cat_of_split
// CHECK-SAME:    (%[[X:.*]]: tensor<4x30xf16>)
// CHECK-NEXT:    func.return %[[X]]
func.func @cat_of_split(%x: tensor<4x30xf16>) -> tensor<4x30xf16> {
  %a = spyre.reindex %x {sizes = array<i64: 4, 10>, extra = [array<i64>],
    source_maps = [affine_map<(i, j) -> (i, j)>], target_maps = [affine_map<(i, j) -> (i, j)>]}
    : (tensor<4x30xf16>) -> tensor<4x10xf16>
  %b = spyre.reindex %x {sizes = array<i64: 4, 20>, extra = [array<i64>],
    source_maps = [affine_map<(i, j) -> (i, j + 10)>], target_maps = [affine_map<(i, j) -> (i, j)>]}
    : (tensor<4x30xf16>) -> tensor<4x20xf16>
  %0 = spyre.reindex %a, %b {sizes = array<i64: 4>, extra = [array<i64: 10>, array<i64: 20>],
    source_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    target_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j + 10)>]}
    : (tensor<4x10xf16>, tensor<4x20xf16>) -> tensor<4x30xf16>
  func.return %0 : tensor<4x30xf16>
}

// -----

// What a pad does not write keeps its fill; a number moved about is that number.

// CHECK-LABEL: @padded_number
// CHECK-NEXT:    %[[F:.*]] = spyre.full 3.000000e+00 : f16 -> tensor<6x4xf16>
// CHECK-NEXT:    func.return %[[F]]
func.func @padded_number() -> tensor<6x4xf16> {
  %0 = spyre.full 3.0 : f16 -> tensor<4x4xf16>
  %1 = spyre.reindex %0 {sizes = array<i64: 4, 4>, extra = [array<i64>], fill = 3.0 : f16,
    source_maps = [affine_map<(i, j) -> (i, j)>], target_maps = [affine_map<(i, j) -> (i + 2, j)>]}
    : (tensor<4x4xf16>) -> tensor<6x4xf16>
  func.return %1 : tensor<6x4xf16>
}

// -----

// A layout that is only passed through goes, the result's stays.

!sticks1 = tensor<64x128xf16, #spyre.layout<array<i64: 1, 0, 1>>>
!sticks0 = tensor<64x128xf16, #spyre.layout<array<i64: 0, 1, 0>>>

// CHECK-LABEL: @restickify
// CHECK-NEXT:    %[[Y:.*]] = spyre.reindex %{{.*}} : (tensor<64x128xf16>) -> tensor<64x128xf16, #spyre.layout<array<i64: 0, 1, 0>>>
// CHECK-NEXT:    func.return %[[Y]]
func.func @restickify(%x: tensor<64x128xf16>) -> !sticks0 {
  %0 = spyre.reindex %x {sizes = array<i64: 64, 128>, extra = [array<i64>],
    source_maps = [affine_map<(i, j) -> (i, j)>], target_maps = [affine_map<(i, j) -> (i, j)>]}
    : (tensor<64x128xf16>) -> !sticks1
  %1 = spyre.reindex %0 {sizes = array<i64: 64, 128>, extra = [array<i64>],
    source_maps = [affine_map<(i, j) -> (i, j)>], target_maps = [affine_map<(i, j) -> (i, j)>]}
    : (!sticks1) -> !sticks0
  func.return %1 : !sticks0
}

// -----

// Negative: a slice across both parts of a concatenation reads two of them.

// CHECK-LABEL: @slice_across
// CHECK-COUNT-2: spyre.reindex
func.func @slice_across(%a: tensor<4x10xf16>, %b: tensor<4x20xf16>) -> tensor<4x5xf16> {
  %0 = spyre.reindex %a, %b {sizes = array<i64: 4>, extra = [array<i64: 10>, array<i64: 20>],
    source_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    target_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j + 10)>]}
    : (tensor<4x10xf16>, tensor<4x20xf16>) -> tensor<4x30xf16>
  %1 = spyre.reindex %0 {sizes = array<i64: 4, 5>, extra = [array<i64>],
    source_maps = [affine_map<(i, j) -> (i, j + 8)>], target_maps = [affine_map<(i, j) -> (i, j)>]}
    : (tensor<4x30xf16>) -> tensor<4x5xf16>
  func.return %1 : tensor<4x5xf16>
}

// -----

// Negative: [6, 4] to [4, 6] to its transpose is not affine in the middle.

// CHECK-LABEL: @not_affine
// CHECK-COUNT-2: spyre.reindex
func.func @not_affine(%x: tensor<24xf16>) -> tensor<24xf16> {
  %0 = spyre.reindex %x {sizes = array<i64: 6, 4>, extra = [array<i64>],
    source_maps = [affine_map<(i, j) -> (i * 4 + j)>], target_maps = [affine_map<(i, j) -> (j * 6 + i)>]}
    : (tensor<24xf16>) -> tensor<24xf16>
  %1 = spyre.reindex %0 {sizes = array<i64: 6, 4>, extra = [array<i64>],
    source_maps = [affine_map<(i, j) -> (i * 4 + j)>], target_maps = [affine_map<(i, j) -> (j * 6 + i)>]}
    : (tensor<24xf16>) -> tensor<24xf16>
  func.return %1 : tensor<24xf16>
}

// -----

// Negative: a decision on an operation is a constraint.

// CHECK-LABEL: @decided
// CHECK-COUNT-2: spyre.reindex
func.func @decided(%x: tensor<4x100xf16>) -> tensor<4x100xf16> {
  %0 = spyre.reindex %x {sizes = array<i64: 4, 100>, extra = [array<i64>], group = 1 : i64,
    source_maps = [affine_map<(a, b) -> (a, b)>], target_maps = [affine_map<(a, b) -> (b, a)>]}
    : (tensor<4x100xf16>) -> tensor<100x4xf16>
  %1 = spyre.reindex %0 {sizes = array<i64: 100, 4>, extra = [array<i64>],
    source_maps = [affine_map<(a, b) -> (a, b)>], target_maps = [affine_map<(a, b) -> (b, a)>]}
    : (tensor<100x4xf16>) -> tensor<4x100xf16>
  func.return %1 : tensor<4x100xf16>
}
