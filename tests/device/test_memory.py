# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The allocator of a card's window."""

import gc
import mmap
import random
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from spyre_runtime.memory import CardMemory

from .conftest import RunPython

MIB = 1 << 20


@pytest.fixture
def memory() -> CardMemory:
    return CardMemory(64 * MIB, "spyre:7")


def test_blocks_are_whole_sticks_and_do_not_overlap(memory: CardMemory) -> None:
    blocks = [memory.allocate(n) for n in (1, 127, 128, 129, 5000)]
    assert [b.nbytes for b in blocks] == [128, 128, 128, 256, 5120]
    ends = [b.address + b.nbytes for b in blocks]
    assert [b.address for b in blocks[1:]] == ends[:-1]
    assert all(b.address % 128 == 0 for b in blocks)


def test_the_first_hole_that_fits_is_taken(memory: CardMemory) -> None:
    small, _, large, _ = [memory.allocate(n) for n in (128, 128, 512, 128)]
    memory.free(large)
    memory.free(small)
    assert memory.allocate(256).address == large.address
    assert memory.allocate(128).address == small.address


def test_neighbouring_holes_become_one(memory: CardMemory) -> None:
    blocks = [memory.allocate(memory.nbytes // 4) for _ in range(4)]
    for index in (0, 2, 1, 3):
        memory.free(blocks[index])
    assert memory.allocate(memory.nbytes).address == 0


def test_lookup_finds_the_block_around_an_address(memory: CardMemory) -> None:
    first, second = memory.allocate(256), memory.allocate(300)
    assert memory.block_at(first.address + 255) is first
    assert memory.block_at(second.address + 383) is second
    with pytest.raises(LookupError, match="no block holds"):
        memory.block_at(second.address + 384)


def test_a_freed_block_forgets_its_layout(memory: CardMemory) -> None:
    block = memory.allocate(128)
    assert block.settle("f16") == "linear"
    memory.free(block)
    assert block.layout is None
    assert memory.allocate(128).layout is None


def test_freeing_twice_is_an_error(memory: CardMemory) -> None:
    block = memory.allocate(128)
    memory.free(block)
    with pytest.raises(LookupError, match="no block starts"):
        memory.free(block)


def test_freed_pages_go_back_and_read_as_zero(memory: CardMemory) -> None:
    block = memory.allocate(MIB)
    memory.bytes_tensor[block.address : block.address + MIB] = 7
    memory.free(block)
    again = memory.allocate(MIB)
    assert again.address == block.address
    assert not memory.bytes_tensor[again.address : again.address + MIB].any()


def test_out_of_memory_names_the_sizes_and_leaves_the_card_usable(
    memory: CardMemory,
) -> None:
    kept = memory.allocate(1000)
    with pytest.raises(torch.OutOfMemoryError) as caught:
        memory.allocate(memory.nbytes)
    message = str(caught.value)
    for part in ("spyre:7", str(memory.nbytes), "1024 bytes used", "67107840 free"):
        assert part in message
    assert memory.stats().out_of_memory == 1
    assert memory.allocate(128).address == kept.nbytes


def test_caches_are_dropped_before_memory_is_refused(memory: CardMemory) -> None:
    cached = [memory.allocate(memory.nbytes)]

    def drop() -> None:
        while cached:
            memory.free(cached.pop())

    memory.on_pressure(drop)
    assert memory.allocate(MIB).address == 0


def test_statistics_follow_the_blocks(memory: CardMemory) -> None:
    first, second = memory.allocate(256), memory.allocate(128)
    memory.free(first)
    stats = memory.stats()
    assert (stats.allocated, stats.peak) == (128, 384)
    assert (stats.allocations, stats.frees) == (2, 1)
    assert (stats.live, stats.most_live) == (1, 2)
    assert (stats.allocated_bytes, stats.freed_bytes) == (384, 256)
    memory.reset_peak()
    assert (memory.stats().peak, memory.stats().most_live) == (128, 1)
    memory.reset_counts()
    memory.free(second)
    stats = memory.stats()
    assert (stats.live, stats.allocations, stats.frees) == (0, 0, 1)
    assert memory.free_bytes() == memory.nbytes


def test_a_free_during_an_allocation_is_kept_for_later(memory: CardMemory) -> None:
    block = memory.allocate(128)
    with memory._lock:  # as if this thread were inside allocate
        memory.free(block)
        assert memory._stats.allocated == 128
    assert memory.stats().allocated == 0


def test_threads_never_share_a_byte(memory: CardMemory) -> None:
    def work(mark: int) -> None:
        rng = random.Random(mark)
        for _ in range(200):
            block = memory.allocate(rng.randrange(1, 4096))
            part = memory.bytes_tensor.narrow(0, block.address, block.nbytes)
            part.fill_(mark)
            assert bool((part == mark).all())
            memory.free(block)

    pool = ThreadPoolExecutor(4)
    for done in [pool.submit(work, mark) for mark in range(1, 5)]:
        done.result()
    pool.shutdown()
    gc.collect()
    assert memory.stats().allocated == 0


def test_a_refused_reservation_falls_back_to_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import spyre_runtime.window as module

    reserve = module._map

    def stingy(nbytes: int, protection: int) -> object:
        if nbytes > 100 * MIB:
            raise OSError("too much")
        return reserve(nbytes, protection)

    monkeypatch.setattr(module, "_map", stingy)
    assert CardMemory(256 * MIB).nbytes == 64 * MIB


def test_either_mapping_may_be_the_one_that_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import spyre_runtime.window as module

    reserve = module._map
    for refused in (0, mmap.PROT_READ | mmap.PROT_WRITE):

        def stingy(nbytes: int, protection: int, refused: int = refused) -> object:
            if protection == refused and nbytes > 100 * MIB:
                raise OSError("too much")
            return reserve(nbytes, protection)

        monkeypatch.setattr(module, "_map", stingy)
        assert CardMemory(256 * MIB).nbytes == 64 * MIB


def test_caches_are_dropped_when_the_machine_runs_short(
    memory: CardMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    import spyre_runtime.memory as module

    dropped: list[int] = []
    memory.on_pressure(lambda: dropped.append(1))
    left = [10 << 30, 100 * MIB]
    monkeypatch.setattr(module, "machine_memory_left", lambda: left.pop(0))
    for _ in range(2):
        assert not dropped
        for _ in range(6):
            memory.free(memory.allocate(48 * MIB))
    assert dropped == [1]


LIMITED = """
import resource
from pathlib import Path
from spyre_runtime.window import address_space_left
import spyre_runtime.device

mapped = int(Path("/proc/self/statm").read_text().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (mapped + ({mib} << 20), -1))
try:
    card = torch.ones(1000, device="spyre")
    print((card + 1).sum().item(), torch.spyre.mem_get_info()[1] >> 20)
except RuntimeError as error:
    print(error)
"""


def test_a_limit_on_addresses_makes_the_card_smaller(run_python: RunPython) -> None:
    done = run_python(LIMITED.format(mib=4096))
    assert done.stdout.split() == ["2000.0", "1024"], done.stderr


def test_a_limit_that_leaves_no_room_is_named(run_python: RunPython) -> None:
    done = run_python(LIMITED.format(mib=100))
    assert "RLIMIT_AS" in done.stdout and "SPYRE_MEMORY_BYTES" in done.stdout
    assert "Traceback" not in done.stderr


def test_statistics_of_the_accelerator_after_a_reset() -> None:
    gc.collect()
    card = torch.ones(1000, device="spyre")
    torch.accelerator.reset_accumulated_memory_stats()
    before = torch.accelerator.memory_stats()["allocation.all.current"]
    assert before > 0
    del card
    stats = torch.accelerator.memory_stats()
    assert stats["allocation.all.current"] == before - 1
    assert stats["allocation.all.freed"] == 1
    reserved = torch.accelerator.memory_reserved()
    assert reserved == torch.accelerator.memory_allocated()
