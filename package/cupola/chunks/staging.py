# cupola/chunks/staging.py - keeps memory through which arrays are copied.
"""Page-locked memory for copies of pageable arrays."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np

from cupola.memory import Memory
from cupola.pipelines import is_page_locked, page_locked

# The most bytes of memory that a cache keeps.
KEPT = 512 << 20


class MemoryCache:
    """A cache of memory that is slow to allocate.

    Parameters
    ----------
    allocate : callable
        Gets a device's index and a number of bytes, and returns a `Memory`.
    """

    def __init__(self, allocate: Callable[[int, int], Memory]) -> None:
        self.allocate = allocate
        self.mutex = threading.Lock()
        self.spare: list[Memory] = []

    def take(self, device: int, nbytes: int) -> Memory:
        with self.mutex:
            fitting = [m for m in self.spare if nbytes <= m.nbytes <= 2 * nbytes]
            if fitting:
                best = min(fitting, key=lambda memory: memory.nbytes)
                self.spare.remove(best)
                return best
        return self.allocate(device, nbytes)

    def give_back(self, all_of_it: list[Memory]) -> None:
        with self.mutex:
            self.spare += all_of_it
            while sum(memory.nbytes for memory in self.spare) > KEPT:
                self.spare.pop(0)


page_locked_cache = MemoryCache(page_locked)


def needs_staging(array: np.ndarray, staging: bool) -> bool:
    """Whether an array's chunks are copied through page-locked memory."""
    if not array.nbytes:
        return False
    if not array.flags.c_contiguous:
        return True
    return staging and not is_page_locked(array)
