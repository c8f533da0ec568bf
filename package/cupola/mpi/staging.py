# cupola/mpi/staging.py - memory for messages, kept until copies from it are done.
"""Memory between an array and MPI: page-locked, or the device's."""

from __future__ import annotations

import collections
import threading

import numpy as np
from mpi4py import MPI

from cupola.array import Array
from cupola.chunks.staging import MemoryCache, page_locked_cache
from cupola.event import Event
from cupola.memory import Memory, alloc
from cupola.mpi.buffers import memory_of
from cupola.stream import Stream

# Copies to the device that may be queued before `retire` waits for the oldest.
MOST_QUEUED = 8


class Lease:
    """Memory of a piece, until `Staging.give_back` or `Staging.retire`."""

    def __init__(self, memory: Memory, on_device: bool) -> None:
        self.memory, self.on_device = memory, on_device

    def part(self, nbytes: int) -> MPI.memory:
        """The first bytes as MPI gets them."""
        return memory_of(self.memory.address, nbytes)

    def load(self, source: Array, stream: Stream) -> None:
        """Queue a copy of an array's bytes."""
        if self.on_device:
            self._bytes(source).set(source, stream=stream)
        else:
            source.get(self._bytes(source), stream=stream)

    def store(self, target: Array, stream: Stream) -> None:
        """Queue a copy to an array's bytes."""
        target.set(self._bytes(target), stream=stream)

    def _bytes(self, like: Array) -> Array | np.ndarray:
        if self.on_device:
            memory = self.memory
            return Array.from_address(
                memory.address, like.shape, np.uint8, owner=memory, device=like.device_index
            )
        return np.frombuffer(self.part(like.nbytes), np.uint8).reshape(like.shape)


class Staging:
    """The memory that a communicator has in use.

    Parameters
    ----------
    device : int
    on_device : bool
        Whether it is memory of the device that other processes can open, instead of page-locked
        memory.
    """

    def __init__(self, device: int, on_device: bool) -> None:
        self.device, self.on_device = device, on_device
        self.cache = MemoryCache(exportable) if on_device else page_locked_cache
        self.mutex = threading.Lock()
        self.queued: collections.deque[tuple[Event, Lease]] = collections.deque()

    def take(self, nbytes: int) -> Lease:
        return Lease(self.cache.take(self.device, nbytes), self.on_device)

    def give_back(self, lease: Lease) -> None:
        self.cache.give_back([lease.memory])

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


def exportable(device: int, nbytes: int) -> Memory:
    return alloc(nbytes, device=device, exportable=True)
