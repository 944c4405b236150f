# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports and traces of programs and images."""

import json

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, NameLoc, StringAttr

from spyre_mlir.binary.image import Call, Image
from spyre_mlir.dialects import dev
from spyre_mlir.target.chips import load_chip
from spyre_runtime.clock import time_image, time_program
from spyre_runtime.report import (
    operation_table,
    report_image,
    report_program,
    show_bytes,
    show_time,
)
from spyre_runtime.trace import trace_program

from .build import matmul, pipeline, program, round_chip, rows, vector


def located(record: dev.RecordOp, name: str, line: int) -> dev.RecordOp:
    place = FileLineColLoc(StringAttr("model.py"), IntAttr(line), IntAttr(0))
    record.location = NameLoc(StringAttr(name), place)
    return record


def two_operations() -> dev.ProgramOp:
    return program(
        {
            "pt": [located(matmul(64, 64, 64), "mm", 3)],
            "sfp": [located(vector(rows(640)), "neg", 4)],
        }
    )


def image_of(*calls: Call) -> Image:
    chip = load_chip()
    return Image(
        programs=(two_operations(), pipeline(10, 64)),
        calls=calls,
        buffers=(),
        arguments=(),
        results=(),
        chip=chip.name,
        fingerprint=chip.fingerprint(),
    )


def test_operations_are_named_by_the_user_s_lines_and_sum_to_the_total():
    chip = round_chip()
    report = report_program(time_program(two_operations(), chip), chip)
    names = [operation.name for operation in report.operations]
    assert names == ["neg (model.py:4)", "mm (model.py:3)"]
    assert sum(operation.time_ps for operation in report.operations) == report.total_ps
    assert sum(operation.share for operation in report.operations) == 1


def test_an_operation_is_bound_by_its_busiest_unit():
    chip = round_chip()
    report = report_program(time_program(two_operations(), chip), chip)
    assert [operation.bound_by for operation in report.operations] == ["sfp", "pt"]
    slow = round_chip(dram_bytes_per_second=10**10)
    report = report_program(time_program(pipeline(50, 64), slow), slow)
    assert report.operations[0].bound_by == "dram"


def test_an_image_takes_the_sum_of_its_calls_and_names_host_time_apart():
    chip = load_chip()
    timing = time_image(image_of(Call(0), Call(1), Call(0)), chip)
    first, second, third = timing.calls
    assert first.total_ps == third.total_ps
    assert timing.total_ps == first.total_ps + second.total_ps + third.total_ps
    assert timing.host_launch_ps == chip.host_launch_picoseconds
    report = report_image(timing, chip)
    assert report.total_ps == timing.total_ps
    assert (report.programs, report.calls) == (2, 3)
    for sums in report.units.values():
        assert sum(sums.values()) == report.total_ps


def test_a_program_that_is_never_called_is_not_timed():
    timing = time_image(image_of(Call(0)), load_chip())
    assert timing.programs[1] is None


def test_calls_of_one_program_keep_their_own_lines():
    here, there = (
        FileLineColLoc(StringAttr("model.py"), IntAttr(line), IntAttr(0))
        for line in (10, 20)
    )
    timing = time_image(
        image_of(Call(0, location=here), Call(0, location=there)), load_chip()
    )
    names = {
        operation.name for operation in report_image(timing, load_chip()).operations
    }
    assert "mm (model.py:3) from model.py:10" in names
    assert "mm (model.py:3) from model.py:20" in names


def test_the_text_names_units_time_and_assumed_numbers():
    chip = load_chip().replace(cores=16)
    report = report_program(time_program(two_operations(), chip), chip)
    text = report.as_text()
    assert "model.py:3" in text
    assert "dram channel" in text
    assert "not counted above" in text
    assumed = chip.provenance()["assumed"]
    assert f"{assumed} of {len(chip.sources)} numbers assumed, 1 overridden" in text


def test_the_json_is_the_report():
    chip = load_chip()
    report = report_program(time_program(two_operations(), chip), chip)
    assert json.loads(report.as_json())["total_ps"] == report.total_ps


def test_a_trace_has_a_thread_for_each_unit_and_the_user_s_lines():
    _, trace = trace_program(two_operations(), round_chip())
    made = json.loads(json.dumps(trace.as_dict()))
    threads = {e["args"]["name"] for e in made["traceEvents"] if e["ph"] == "M"}
    assert set(dev.UNITS) < threads
    run = next(e for e in made["traceEvents"] if e["name"] == "matmul")
    assert run["args"]["loc"] == "mm (model.py:3)"
    assert (run["ts"], run["dur"]) == (0, 0.256)


def test_times_and_sizes_are_shown_with_three_figures():
    assert [show_time(t) for t in (0, 999, 12_345, 1_500_000, 2_149_000_000)] == [
        "0 ps",
        "999 ps",
        "12.3 ns",
        "1.5 us",
        "2.15 ms",
    ]
    assert show_bytes(81_920_000) == "81.9 MB"


def test_a_short_table_has_one_line_for_the_other_operations():
    chip = round_chip()
    report = report_program(time_program(two_operations(), chip), chip)
    assert operation_table(report).row_count == 2
    short = operation_table(report, most=1)
    assert list(short.columns[0].cells) == ["neg (model.py:4)", "1 others"]
