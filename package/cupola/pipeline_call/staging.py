# cupola/pipeline_call/staging.py - keeps page-locked memory, through which arrays are copied.
"""Page-locked memory for copies of pageable arrays."""

from __future__ import annotations

import threading

import numpy as np

from cupola.memory import Memory
from cupola.pipelines import is_page_locked, page_locked

# Page-locked memory is kept for the next pipeline, since page-locking is slow.
KEPT = 512 << 20


class PageLockedCache:
    """A cache of page-locked memory, reused by later pipelines."""

    def __init__(self) -> None:
        self.mutex = threading.Lock()
        self.spare: list[Memory] = []

    def take(self, device: int, nbytes: int) -> Memory:
        with self.mutex:
            fitting = [m for m in self.spare if nbytes <= m.nbytes <= 2 * nbytes]
            if fitting:
                best = min(fitting, key=lambda memory: memory.nbytes)
                self.spare.remove(best)
                return best
        return page_locked(device, nbytes)

    def give_back(self, all_of_it: list[Memory]) -> None:
        with self.mutex:
            self.spare += all_of_it
            while sum(memory.nbytes for memory in self.spare) > KEPT:
                self.spare.pop(0)


page_locked_cache = PageLockedCache()


def needs_staging(array: np.ndarray, staging: bool) -> bool:
    """Whether an array's chunks are copied through page-locked memory."""
    if not array.nbytes:
        return False
    if not array.flags.c_contiguous:
        return True
    return staging and not is_page_locked(array)
