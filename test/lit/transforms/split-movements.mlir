// RUN: spyre-opt %s -p spyre-plan-layouts,spyre-split-movements --split-input-file | filecheck %s
// RUN: spyre-opt %s -p spyre-plan-layouts,spyre-split-movements,spyre-split-movements --split-input-file | filecheck %s

// Two rows after each other: one stick holds the end of the first and the start of
// the second, and what lies before and after it is shared by all cores.

// CHECK-LABEL: @cat
// CHECK-SAME:    (%[[A:.*]]: tensor<100003xf16, {{.*}}>, %[[B:.*]]: tensor<99999xf16, {{.*}}>)
// CHECK:         %[[E:.*]] = spyre.reindex %[[A]], %[[B]]
// CHECK-SAME:      extra = [array<i64: 35>, array<i64: 29>]
// CHECK-SAME:      -> tensor<64xf16
// CHECK:         spyre.reindex %[[A]], %[[E]], %[[B]]
// CHECK-SAME:      target_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ((d0 + 99968))>, affine_map<(d0) -> ((d0 + 100032))>]
// CHECK-SAME:      limits = array<i64: 99968, 64, 99970>
func.func @cat(%a: tensor<100003xf16>, %b: tensor<99999xf16>) -> tensor<200002xf16> {
  %0 = spyre.reindex %a, %b {sizes = array<i64>,
    extra = [array<i64: 100003>, array<i64: 99999>],
    source_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
    target_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0 + 100003)>]}
    : (tensor<100003xf16>, tensor<99999xf16>) -> tensor<200002xf16>
  func.return %0 : tensor<200002xf16>
}

// -----

// What nothing is moved to is a region too.

// CHECK-LABEL: @pad
// CHECK:         %[[ONE:.*]] = spyre.full 3.000000e+00 : f16 -> tensor<1xf16
// CHECK:         spyre.reindex %[[ONE]], %a
// CHECK-SAME:      limits = array<i64: 640, 100096>
func.func @pad(%a: tensor<100096xf16>) -> tensor<100736xf16> {
  %0 = spyre.reindex %a {sizes = array<i64: 100096>, extra = [array<i64>],
    source_maps = [affine_map<(d0) -> (d0)>],
    target_maps = [affine_map<(d0) -> (d0 + 640)>], fill = 3.0 : f16}
    : (tensor<100096xf16>) -> tensor<100736xf16>
  func.return %0 : tensor<100736xf16>
}

// -----

// Backwards, regions are powers of two of sticks, so that every cut is even.

// CHECK-LABEL: @flip
// CHECK:         spyre.reindex %a, %a, %{{[0-9]+}} {
// CHECK-SAME:      limits = array<i64: 65536, 32768, 1699>
func.func @flip(%a: tensor<100003xf16>) -> tensor<100003xf16> {
  %0 = spyre.reindex %a {sizes = array<i64: 100003>, extra = [array<i64>],
    source_maps = [affine_map<(d0) -> (-d0 + 100002)>],
    target_maps = [affine_map<(d0) -> (d0)>]} : (tensor<100003xf16>) -> tensor<100003xf16>
  func.return %0 : tensor<100003xf16>
}

// -----

// Small ones stay, and those that can be cut as they are.

// CHECK-LABEL: @stays
// CHECK-NOT:     limits
func.func @stays(%a: tensor<103xf16>, %b: tensor<1000x200xf16>)
    -> (tensor<206xf16>, tensor<1000x400xf16>) {
  %0 = spyre.reindex %a, %a {sizes = array<i64>,
    extra = [array<i64: 103>, array<i64: 103>],
    source_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
    target_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0 + 103)>]}
    : (tensor<103xf16>, tensor<103xf16>) -> tensor<206xf16>
  %1 = spyre.reindex %b, %b {sizes = array<i64: 1000>,
    extra = [array<i64: 200>, array<i64: 200>],
    source_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
    target_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1 + 200)>]}
    : (tensor<1000x200xf16>, tensor<1000x200xf16>) -> tensor<1000x400xf16>
  func.return %0, %1 : tensor<206xf16>, tensor<1000x400xf16>
}
