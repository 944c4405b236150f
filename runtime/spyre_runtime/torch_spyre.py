# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# pyright: reportPrivateUsage=false, reportPrivateImportUsage=false
# pyright: reportUnusedFunction=false
"""
The module `torch.spyre`.

Imported at the end of `import torch`, so it imports nothing but the standard library
and PyTorch; the card itself is made at the first use. Registering a device takes names
that PyTorch keeps private; it calls some of ours that are private in turn.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable
from types import ModuleType, TracebackType
from typing import Any, NamedTuple, TypeVar, cast

import torch

from . import amp, build, sending
from .forks import taken_at_forks

NAME = "spyre"

Function = TypeVar("Function", bound=Callable[..., Any])

_native: ModuleType | None = None
_missing = ""
"""Why the C++ file is not loaded, and what to do."""
_initialized = False
"""What `torch.utils.checkpoint` asks before it keeps the generators' states."""
_used = False
_forked = False
_starting = taken_at_forks(threading.RLock())


def register() -> None:
    """Names the device type, and loads a build that fits if there is one."""
    module = sys.modules[__name__]
    if sys.modules.get("torch.spyre") is module:
        return
    torch.utils.rename_privateuse1_backend(NAME)
    torch._register_device_module(NAME, module)
    sys.modules["torch.spyre"] = module
    sys.modules["torch.spyre.amp"] = amp
    sending.register(NAME)
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
    _load_existing()


def _load_existing() -> None:
    global _native, _missing, _initialized
    try:
        path = build.find_build()
        if path is None:
            _missing = build.what_is_missing()
            return
        module = build.load(path)
        module.install(_runtime, device_count())
    except (ImportError, OSError, RuntimeError) as error:
        _missing = f"its C++ file could not be loaded ({error}): {build.HOW_TO_BUILD}"
        return
    _native = module
    _initialized = True


class _Runtime:
    """The functions that the C++ file calls, imported when the first is."""

    def __getattr__(self, name: str) -> Any:
        from . import device

        global _used
        if _forked and name != "free":
            raise RuntimeError(
                "a card cannot be used in a forked process; use the 'spawn' start "
                "method"
            )
        if not _used:
            _used = True
            os.register_at_fork(after_in_child=_after_fork)
        found = getattr(device, name)
        _hide_from_dynamo(found)
        setattr(self, name, found)
        return found


def _hide_from_dynamo(function: Callable[..., Any]) -> None:
    """
    Kernels are called below user code that Dynamo may be compiling frame by frame; it
    must not take them, or what they call, for a part of that.
    """
    frames = cast(Any, torch._C)._dynamo.eval_frame
    skip = frames._FrameAction.SKIP
    frames.set_code_exec_strategy(
        function.__code__, frames._FrameExecStrategy(skip, skip)
    )


def _after_fork() -> None:
    global _forked
    _forked = True
    vars(_runtime).clear()


_runtime = _Runtime()


def _require() -> ModuleType:
    """The C++ module; builds it at the first use of the device if need be."""
    _lazy_init()
    assert _native is not None  # _lazy_init raises otherwise
    return _native


# What PyTorch itself calls


def _lazy_init() -> None:
    if _native is None:
        with _starting:
            if _native is None:
                _load_existing()
        if _native is None:
            raise RuntimeError(
                f"the device 'spyre' is not ready: {_missing}. Tensors on the CPU "
                "can be compiled and run without it"
            )


def is_initialized() -> bool:
    return _native is not None


def init() -> None:
    """Makes the device ready, or says what is missing."""
    _lazy_init()


def _is_in_bad_fork() -> bool:
    return _forked


def is_available() -> bool:
    return _native is not None and device_count() > 0


def device_count() -> int:
    """Cards of this process: `SPYRE_DEVICES`, or one."""
    return int(os.environ.get("SPYRE_DEVICES", "1"))


def current_device() -> int:
    return _require().current_device()


def set_device(device: torch.types.Device) -> None:
    """Makes a card the current one of this thread."""
    _require().set_device(_index(device))


def get_device_name(device: torch.types.Device = None) -> str:
    _index(device)
    return "IBM Spyre (simulated)"


class CardProperties(NamedTuple):
    """What a program may ask about a card; memory in bytes, the clock in hertz."""

    name: str
    total_memory: int
    multi_processor_count: int
    scratchpad_bytes_per_core: int
    core_clock_hz: int


def get_device_properties(device: torch.types.Device = None) -> CardProperties:
    from .card import card

    found = card(_index(device))
    return CardProperties(
        get_device_name(device),
        found.memory.nbytes,
        found.chip.cores,
        found.chip.scratchpad_bytes_per_core,
        found.chip.core_clock_hz,
    )


def get_device_capability(device: torch.types.Device = None) -> dict[str, Any]:
    """As `torch.accelerator.get_device_capability`: the types of tensors."""
    _lazy_init()
    return dict(torch.accelerator.get_device_capability(_index(device)))


def get_amp_supported_dtype() -> list[torch.dtype]:
    return [torch.float16, torch.bfloat16]


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether bfloat16 runs on the card itself, which it does."""
    return True


def _index(device: torch.types.Device) -> int:
    """A card's index from an int, a string, a device or None."""
    if device is None:
        return current_device()
    if isinstance(device, int):
        index = device
    else:
        device = torch.device(device)
        if device.type != NAME:
            raise ValueError(f"expected a spyre device, got {device}")
        found = cast("int | None", device.index)
        index = current_device() if found is None else found
    if not 0 <= index < device_count():
        raise RuntimeError(
            f"there is no card spyre:{index}; {device_count()} present (SPYRE_DEVICES)"
        )
    return index


class device:
    """Context manager that makes a card the current one; None and -1 change none."""

    def __init__(self, device: torch.types.Device) -> None:
        keep = device is None or (isinstance(device, int) and device < 0)
        self.idx = -1 if keep else _index(device)
        self.previous = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            self.previous = current_device()
            set_device(self.idx)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.idx >= 0:
            set_device(self.previous)


class device_of(device):
    """Context manager that makes a tensor's card the current one."""

    def __init__(self, tensor: torch.Tensor) -> None:
        super().__init__(tensor.device if tensor.device.type == NAME else None)


# Streams


class Stream(torch.Stream):
    """A stream of a card; launches run at once, in the order of submission."""

    def __new__(
        cls, device: torch.types.Device = None, priority: int = 0, **kwargs: Any
    ) -> Stream:
        if kwargs:  # made from ids, as PyTorch's own code does
            return super().__new__(cls, priority=priority, **kwargs)
        place = torch.device(NAME, _index(device))
        return super().__new__(cls, device=place, priority=priority)


class Event(torch.Event):
    """
    An event of a card; with timing it holds the card's simulated time.

    Calling it makes a plain `torch.Event`, the only kind that can be compared.
    """

    def __new__(
        cls, enable_timing: bool = False, blocking: bool = False, **_: Any
    ) -> torch.Event:
        place = torch.device(NAME, current_device())
        return torch.Event(device=place, enable_timing=enable_timing)


def current_stream(device: torch.types.Device = None) -> torch.Stream:
    _lazy_init()
    return torch.accelerator.current_stream(torch.device(NAME, _index(device)))


def default_stream(device: torch.types.Device = None) -> torch.Stream:
    _lazy_init()
    place = torch.device(NAME, _index(device))
    return torch.Stream(stream_id=0, device_index=place.index, device_type=_type_id())


def _type_id() -> int:
    return torch.Stream(device=NAME).device_type


def set_stream(stream: torch.Stream) -> None:
    torch.accelerator.set_stream(stream)


def stream(stream: torch.Stream) -> torch.Stream:
    """A stream is a context manager that makes itself the current one."""
    return stream


def synchronize(device: torch.types.Device = None) -> None:
    """Returns when all work of a card is done."""
    torch.accelerator.synchronize(torch.device(NAME, _index(device)))


# Memory


def memory_stats(device: torch.types.Device = None) -> dict[str, int]:
    """Bytes `allocated` and `peak`, blocks `live`, and how many came and went."""
    from .device import memory_numbers

    _lazy_init()
    return dict(memory_numbers(_index(device)))


def memory_allocated(device: torch.types.Device = None) -> int:
    return memory_stats(device)["allocated"]


def max_memory_allocated(device: torch.types.Device = None) -> int:
    return memory_stats(device)["peak"]


def memory_reserved(device: torch.types.Device = None) -> int:
    """As `memory_allocated`: freed memory goes back to the system at once."""
    return memory_allocated(device)


def max_memory_reserved(device: torch.types.Device = None) -> int:
    return max_memory_allocated(device)


def memory_summary(device: torch.types.Device = None, abbreviated: bool = False) -> str:
    """A table of `memory_stats`; the short one leaves out the counts."""
    rows = memory_stats(device)
    free, total = mem_get_info(device)
    shown = {"free": free, "total": total, **rows}
    if abbreviated:
        shown = {name: shown[name] for name in ("allocated", "peak", "free", "total")}
    lines = [
        f"{name.replace('_', ' '):<20}{count:>16}" for name, count in shown.items()
    ]
    return "\n".join([f"memory of spyre:{_index(device)}", *lines])


def mem_get_info(device: torch.types.Device = None) -> tuple[int, int]:
    """Bytes free and in all."""
    from .device import memory_info

    _lazy_init()
    return memory_info(_index(device))


def reset_peak_memory_stats(device: torch.types.Device = None) -> None:
    from .device import reset_peak

    _lazy_init()
    reset_peak(_index(device))


def reset_accumulated_memory_stats(device: torch.types.Device = None) -> None:
    from .device import reset_counts

    _lazy_init()
    reset_counts(_index(device))


def empty_cache() -> None:
    """Nothing is cached by the allocator; kept for programs that call it."""


# Random numbers


def _outside_graphs(function: Function) -> Function:
    """Keeps Dynamo from compiling what changes or copies a generator's state."""
    cast(Any, function)._torchdynamo_disable = True
    _hide_from_dynamo(function)
    return function


@_outside_graphs
def manual_seed(seed: int) -> None:
    """Seeds the current card; before the device is ready it does nothing."""
    if _native is not None:
        _native.default_generator(-1).manual_seed(seed)


@_outside_graphs
def manual_seed_all(seed: int) -> None:
    """Seeds all cards; before the device is ready it does nothing."""
    if _native is not None:
        for index in range(device_count()):
            _native.default_generator(index).manual_seed(seed)


@_outside_graphs
def seed() -> int:
    return _require().default_generator(-1).seed()


@_outside_graphs
def seed_all() -> None:
    """Seeds all cards with one number that the system draws."""
    manual_seed_all(seed())


@_outside_graphs
def initial_seed() -> int:
    return _require().default_generator(-1).initial_seed()


@_outside_graphs
def get_rng_state(device: torch.types.Device = NAME) -> torch.Tensor:
    return _require().default_generator(_index(device)).get_state()


@_outside_graphs
def set_rng_state(new_state: torch.Tensor, device: torch.types.Device = NAME) -> None:
    _require().default_generator(_index(device)).set_state(new_state)


@_outside_graphs
def get_rng_state_all() -> list[torch.Tensor]:
    """The state of each card's generator."""
    return [get_rng_state(index) for index in range(device_count())]


@_outside_graphs
def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Sets the states that `get_rng_state_all` gave."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


# Operators that ran on the host


def fallback_counts() -> dict[str, int]:
    """How often each eager operator ran on the host for card tensors."""
    return _require().fallback_counts()


def reset_fallback_counts() -> None:
    _require().reset_fallback_counts()
