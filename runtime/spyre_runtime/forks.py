# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""
Locks across `fork`.

A child has the forking thread alone. A lock that another thread held would stay taken
in it for ever, over state that nobody finishes. So a fork takes all of our locks
first: it waits for launches that run, and the child finds everything whole.
"""

from __future__ import annotations

import os
import weakref
from types import TracebackType
from typing import Protocol, TypeVar


class Lock(Protocol):
    """What `threading.Lock` and `threading.RLock` make."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool: ...
    def release(self) -> None: ...
    def __enter__(self) -> bool: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...


AnyLock = TypeVar("AnyLock", bound=Lock)

_known: list[weakref.ref[Lock]] = []
_taken: list[Lock] = []


def taken_at_forks(lock: AnyLock) -> AnyLock:
    """The lock, which no other thread will hold in a child."""
    _known.append(weakref.ref(lock, _known.remove))
    return lock


def _take_all() -> None:
    """
    Takes every lock in whatever order works: while it waits for one, it holds none
    that the owner of that one may wait for.
    """
    locks = [lock for known in tuple(_known) if (lock := known()) is not None]
    while locks:
        locks[0].acquire()
        busy = next((k for k in range(1, len(locks)) if not locks[k].acquire(False)), 0)
        if not busy:
            break
        for lock in locks[:busy]:
            lock.release()
        locks = locks[busy:] + locks[:busy]
    _taken[:] = locks


def _release_all() -> None:
    locks = tuple(_taken)
    _taken.clear()
    for lock in locks:
        lock.release()


os.register_at_fork(
    before=_take_all, after_in_parent=_release_all, after_in_child=_release_all
)
