# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""IBM Spyre: 32 cores on a ring, 2 MB of scratchpad each, LPDDR5."""

from spyre_mlir.target.chip import Chip, assumed, measured, public

_ARCHITECTURE = "torch-spyre docs/source/architecture/spyre_accelerator.md"
_FIRST_PRINCIPLES = "research note matmul_first_principles_v3 (aiu-matmul-reference)"
_COST_MODEL = "torch-spyre torch_spyre/_inductor/cost_model.py"
_DIVISION = "torch-spyre torch_spyre/_inductor/work_division.py"
_BANKS = "branch hbm-bank-aware of AdnanHoque/torch-spyre"

CHIP = Chip(
    name="spyre",
    cores=public(32, _ARCHITECTURE),
    stick_bytes=public(128, "torch-spyre docs, tensors_and_layouts.md"),
    core_clock_hz=measured(
        1_113_281_250,
        f"{_COST_MODEL}: 1140 MAC/ns/core sustained, over 1024 MAC per cycle",
    ),
    ring_clock_hz=assumed(
        1_300_000_000, "the published 166 GB/s per direction over 128 bytes per cycle"
    ),
    scratchpad_bytes_per_core=public(2 * 1024 * 1024, _ARCHITECTURE),
    scratchpad_reserved_bytes_per_core=public(
        64 * 1024, "torch-spyre docs/source/compiler/scratchpad_planning.md"
    ),
    scratchpad_bytes_per_cycle_per_core=public(128, _FIRST_PRINCIPLES),
    max_span_bytes=public(256 * 1024 * 1024, _ARCHITECTURE),
    max_loop_trips=public(65535, "torch-spyre issue 3162"),
    record_start_cycles=assumed(64, "about one fill of the matrix array"),
    pt_macs_per_cycle_per_core_f16=public(1024, _FIRST_PRINCIPLES),
    pt_macs_per_cycle_per_core_f32=assumed(256, "a quarter of the 16-bit rate"),
    pt_macs_per_cycle_per_core_i32=assumed(256, "as f32"),
    pt_macs_per_cycle_per_core_i64=assumed(64, "a quarter of i32"),
    pt_rows_per_pass=public(8, _DIVISION),
    pt_columns_per_pass=public(64, _FIRST_PRINCIPLES),
    pt_depth_per_pass=public(64, _FIRST_PRINCIPLES),
    pt_full_rate_rows=measured(64, _COST_MODEL),
    pt_rows_exponent=measured(0.35, _COST_MODEL),
    pt_weight_block_bytes_per_core=public(2 * 64 * 1024, _FIRST_PRINCIPLES),
    pt_fill_cycles=public(64, _FIRST_PRINCIPLES),
    sfp_lanes_per_core=assumed(
        128, "two corelets of one stick per cycle, as the scratchpad delivers"
    ),
    sfp_lane_fold_cycles=assumed(6, "a tree over the 64 lanes of a stick"),
    sfp_shuffle_elements_per_cycle_per_core=assumed(
        64, "one stick per cycle; isolated transposes are bound by DRAM"
    ),
    dram_bytes=public(
        112 * 1024**3, "torch-spyre docs, dataflow_architecture.md: 128 GB less ECC"
    ),
    dram_peak_bytes_per_second=public(204_800_000_000, _DIVISION),
    dram_bytes_per_second=measured(150_000_000_000, _COST_MODEL),
    dram_turnaround_femtoseconds_per_byte=measured(5740, _COST_MODEL),
    dram_bytes_per_second_per_core=measured(
        16_500_000_000, f"{_COST_MODEL}: one core reaches 0.11 of the rate of all"
    ),
    dram_word_bytes=public(
        128, "torch-spyre docs/source/compiler/restickify_cost_model.md"
    ),
    dram_burst_bytes=public(
        4096, "torch-spyre docs/source/compiler/restickify_cost_model.md"
    ),
    dram_request_picoseconds=assumed(
        100, "published rates of short runs are within a tenth of long ones"
    ),
    dram_outstanding_requests_per_core=public(4, _BANKS),
    dram_latency_picoseconds=assumed(
        222_600, "4 words of 128 bytes under way at the published 2.3 GB/s per core"
    ),
    multicast_free_cores=public(8, _DIVISION),
    multicast_exponent=public(0.75, "branch cost-model-physics-v3-candidate"),
    ring_bytes_per_cycle=public(128, _ARCHITECTURE),
    ring_descriptor_picoseconds=measured(
        4000, f"{_COST_MODEL}: 4 to 12 ns per run of a shuffle"
    ),
    partial_sum_picoseconds_per_element=public(
        100, "branch cost-model-physics-v3-candidate: 1e-4 us per element"
    ),
    matmul_batch_exponent=public(1.4, _DIVISION),
    program_start_picoseconds=measured(0, f"{_COST_MODEL}: intercept of the fit"),
    host_launch_picoseconds=measured(
        2_149_000_000, "granite-e2e notes, June 2026: 1.016 ms inside 3.165 ms"
    ),
)
