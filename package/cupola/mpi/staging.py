# cupola/mpi/staging.py - page-locked memory for messages, kept until copies from it are done.
"""Page-locked memory between device memory and MPI."""

from __future__ import annotations

import collections
import threading

import numpy as np
from mpi4py import MPI

from cupola.event import Event
from cupola.memory import Memory
from cupola.mpi.buffers import memory_of
from cupola.pipeline_call.staging import page_locked_cache
from cupola.stream import Stream

# Copies to the device that may be queued before `retire` waits for the oldest.
MOST_QUEUED = 8


class Lease:
    """Page-locked memory of a piece, until `Staging.give_back` or `Staging.retire`."""

    def __init__(self, device: int, nbytes: int) -> None:
        self.memory: Memory = page_locked_cache.take(device, max(nbytes, 1))
        self.nbytes = nbytes

    def part(self, nbytes: int) -> MPI.memory:
        """The first bytes as MPI gets them."""
        return memory_of(self.memory.address, nbytes)

    def bytes(self, nbytes: int) -> np.ndarray:
        """The first bytes as a NumPy array."""
        return np.frombuffer(self.part(nbytes), np.uint8)


class Staging:
    """The page-locked memory that a communicator has in use."""

    def __init__(self, device: int) -> None:
        self.device = device
        self.mutex = threading.Lock()
        self.queued: collections.deque[tuple[Event, Lease]] = collections.deque()

    def take(self, nbytes: int) -> Lease:
        return Lease(self.device, nbytes)

    def give_back(self, lease: Lease) -> None:
        page_locked_cache.give_back([lease.memory])

    def retire(self, lease: Lease, stream: Stream) -> None:
        """Give memory back as soon as the copies are done that the stream has now."""
        with self.mutex:
            self.queued.append((stream.record(), lease))
            while self.queued and (self.queued[0][0].done or len(self.queued) > MOST_QUEUED):
                event, first = self.queued[0]
                event.synchronize()
                self.queued.popleft()
                self.give_back(first)

    def drain(self) -> None:
        """Wait for all queued copies."""
        with self.mutex:
            while self.queued:
                self.queued[0][0].synchronize()
                self.give_back(self.queued.popleft()[1])
