# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What programs and PyTorch's own code ask of `torch.spyre`."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest
import torch

from spyre_runtime import torch_spyre as spyre

RunPython = Callable[..., subprocess.CompletedProcess[str]]


def test_properties_of_a_card() -> None:
    found = spyre.get_device_properties("spyre:0")
    assert found.name == spyre.get_device_name()
    assert found.total_memory == spyre.mem_get_info()[1]
    assert found.multi_processor_count > 0
    assert spyre.is_bf16_supported()
    assert torch.bfloat16 in spyre.get_device_capability()["supported_dtypes"]
    with pytest.raises(RuntimeError, match="there is no card spyre:7"):
        spyre.get_device_properties(7)


def test_the_summary_shows_what_is_allocated() -> None:
    held = torch.ones(1000, device="spyre")
    used = spyre.memory_allocated()
    lines = spyre.memory_summary().splitlines()
    assert lines[0] == "memory of spyre:0"
    assert ["allocated", str(used)] in [line.split() for line in lines]
    assert len(spyre.memory_summary(abbreviated=True).splitlines()) < len(lines)
    assert held.sum().item() == 1000


LOADER = """
import sys

class Rows(torch.utils.data.Dataset):
    def __init__(self, held):
        self.held = held
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return self.held[index] if self.held is not None else make(index)

def make(index):
    return torch.full((3,), float(index)).to("spyre")

def load(held, size, context):
    loader = torch.utils.data.DataLoader(
        Rows(held), batch_size=size, num_workers=1, multiprocessing_context=context
    )
    return [batch.device.type + str(batch.cpu().tolist()) for batch in loader]
"""
SPAWNED = """
if __name__ == "__main__":
    held = torch.arange(4.0).to("spyre")
    print(load(held, 2, "spawn"))
    print(load(None, None, "spawn"))
"""
FORKED = """
held = torch.arange(4.0).to("spyre")
for size in (None, 2):
    try:
        load(held, size, "fork")
    except RuntimeError as error:
        print("refused", "cannot be used in a forked process" in str(error))
"""


def test_workers_send_card_tensors(
    run_python: RunPython, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """By value from new processes; those of a fork say why they cannot."""
    script = tmp_path_factory.mktemp("loader") / "rows.py"
    prelude = "import torch\nfrom spyre_runtime.autoload import autoload\nautoload()\n"
    script.write_text(prelude + LOADER + SPAWNED)
    command = f"[sys.executable, {str(script)!r}]"
    run = f"import subprocess, sys\nsys.exit(subprocess.run({command}).returncode)\n"
    spawned = run_python(run, prelude="")
    assert spawned.returncode == 0, spawned.stderr
    first, second = spawned.stdout.splitlines()
    assert first == "['spyre[0.0, 1.0]', 'spyre[2.0, 3.0]']"
    rows = [f"spyre[{i}.0, {i}.0, {i}.0]" for i in range(4)]
    assert second == str(rows)
    forked = run_python(LOADER + FORKED)
    assert forked.stdout.splitlines() == ["refused True"] * 2, forked.stderr


NESTED = """
rows = [torch.ones(2, 3, device="spyre"), torch.ones(4, 3, device="spyre")]
for grad in (False, True):
    leaf = rows[0].clone().requires_grad_(grad)
    made = torch.nested.as_nested_tensor([leaf, rows[1]])
    print(made._nested_tensor_size().tolist())
    try:
        made + 1
    except NotImplementedError as error:
        print("layout=torch.jagged" in str(error))
values = torch.nested.nested_tensor([[1.0], [2.0, 3.0]], device="spyre",
                                    requires_grad=True)
jagged = torch.nested.as_nested_tensor(rows, layout=torch.jagged)
print(jagged.sum(-1).to_padded_tensor(0.0).cpu().tolist())
"""


def test_nested_tensors_work_or_are_refused(run_python: RunPython) -> None:
    """In a process of its own: an error inside autograd would end it."""
    done = run_python("import warnings\nwarnings.simplefilter('ignore')\n" + NESTED)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        *(["[[2, 3], [4, 3]]", "True"] * 2),
        "[[3.0, 3.0, 0.0, 0.0], [3.0, 3.0, 3.0, 3.0]]",
    ]


CARDS = """
torch.manual_seed(4)
first, second = (torch.rand(3, device=f"spyre:{card}").cpu() for card in (0, 1))
print(torch.equal(first, second))
states = torch.spyre.get_rng_state_all()
torch.dropout(torch.ones(8, device="spyre:1"), 0.5, True)
after = torch.spyre.get_rng_state_all()
print([torch.equal(a, b) for a, b in zip(states, after)])
with torch.random.fork_rng(devices=[0, 1], device_type="spyre"):
    torch.rand(3, device="spyre:0")
    torch.rand(3, device="spyre:1")
print([torch.equal(a, b) for a, b in zip(after, torch.spyre.get_rng_state_all())])
"""


def test_each_card_draws_from_its_own_generator(run_python: RunPython) -> None:
    done = run_python(CARDS, SPYRE_DEVICES="2")
    assert done.stdout.splitlines() == ["True", "[True, False]", "[True, True]"], (
        done.stderr
    )
