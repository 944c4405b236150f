# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Streams, events, the current card, and `torch.accelerator`."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from subprocess import CompletedProcess

import pytest
import torch

from spyre_runtime import torch_spyre as spyre
from spyre_runtime.card import card

RunPython = Callable[..., CompletedProcess[str]]


def test_the_module_is_part_of_torch() -> None:
    assert getattr(torch, "spyre") is spyre  # noqa: B009 -- unknown to type checkers


def test_streams_are_distinct_and_restored() -> None:
    first, second = spyre.Stream(), torch.Stream(device="spyre")
    assert first != second
    before = spyre.current_stream()
    assert before == spyre.default_stream()
    with first:
        assert torch.accelerator.current_stream() == first
        event = first.record_event()
    assert spyre.current_stream() == before
    second.wait_event(event)
    second.synchronize()
    assert event.query()


def test_events_hold_simulated_time() -> None:
    first, last = (spyre.Event(enable_timing=True) for _ in range(2))
    first.record()
    card(0).advance(2_500_000_000)
    last.record()
    assert first.elapsed_time(last) == 2.5


def test_the_accelerator_module_works() -> None:
    assert torch.accelerator.current_accelerator() == torch.device("spyre")
    assert torch.accelerator.device_count() == spyre.device_count() == 1
    tensor = torch.empty(1000, device="spyre")
    assert torch.accelerator.memory_allocated() == spyre.memory_allocated() > 0
    free, total = spyre.mem_get_info()
    assert total - free == spyre.memory_allocated()
    torch.accelerator.synchronize()
    torch.accelerator.empty_cache()
    del tensor


def test_the_current_card() -> None:
    with spyre.device("spyre:0"):
        assert spyre.current_device() == 0
    with pytest.raises(RuntimeError, match="no card spyre:3"):
        spyre.set_device(3)


def test_two_cards(run_python: RunPython) -> None:
    done = run_python(
        """
a = torch.ones(3, device="spyre:1")
with torch.spyre.device(1):
    b = torch.empty(4, device="spyre")
    assert torch.spyre.current_device() == 1
assert a.device.index == b.device.index == 1 and torch.spyre.current_device() == 0
assert torch.spyre.memory_allocated(0) == 0 and torch.spyre.memory_allocated(1) == 256
c = a.to("spyre:0")
assert c.device.index == 0 and c.cpu().tolist() == [1, 1, 1]
try:
    a + c
except RuntimeError as error:
    assert "spyre:1" in str(error) and "spyre:0" in str(error)
else:
    raise AssertionError("two cards in one operator")
print("done")
""",
        SPYRE_DEVICES="2",
        SPYRE_MEMORY_BYTES=str(64 << 20),
    )
    assert done.stdout == "done\n", done.stderr


def test_threads_work_side_by_side() -> None:
    def work(number: int) -> None:
        for i in range(20):
            host = torch.full((33, 65), float(number * 100 + i))
            assert torch.equal((host.to("spyre") + 1).cpu(), host + 1)

    pool = ThreadPoolExecutor(4)
    for done in [pool.submit(work, n) for n in range(4)]:
        done.result(timeout=60)
    pool.shutdown()
