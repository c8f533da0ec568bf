# cupola/mpi/rows.py - parts of collectives: equal rows of bytes, one for each rank.
"""The bytes of a collective's array, taken in parts of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.mpi.buffers import Buffer, memory_of
from cupola.mpi.messages import Link
from cupola.mpi.staging import Lease


class Rows:
    """An array of a collective as rows of bytes, one for each rank, or one in all.

    Parameters
    ----------
    buffer : Buffer
    rows : int
    link : Link
    """

    def __init__(self, buffer: Buffer, rows: int, link: Link) -> None:
        self.buffer, self.rows, self.staging = buffer, rows, link.staging
        self.width = buffer.nbytes // rows
        self.staged = link.staged and buffer.on_device
        if buffer.on_device and not self.staged:
            buffer.stream.synchronize()

    def part(self, start: int, stop: int, load: bool) -> Part:
        """Bytes from `start` to `stop` of each row; with the array's elements where `load`."""
        return Part(self, start, stop, load)

    def bytes(self, start: int, stop: int) -> Any:
        """These bytes of each row, as a view (rows, bytes) of the array."""
        return self.buffer.contents.reshape(self.rows, self.width)[:, start:stop]


class Part:
    """Memory of a part, contiguous: the array's own, or a copy.

    Attributes
    ----------
    memory : mpi4py.MPI.memory
    """

    def __init__(self, rows: Rows, start: int, stop: int, load: bool) -> None:
        self.rows, self.start, self.stop = rows, start, stop
        self.lease: Lease | None = None
        self.copy: np.ndarray | None = None
        self.nbytes = rows.rows * (stop - start)
        whole = rows.rows == 1 or stop - start == rows.width
        if self.nbytes and (rows.staged or (rows.buffer.on_device and not whole)):
            self.lease = rows.staging.take(self.nbytes)
            self.memory = self.lease.part(self.nbytes)
            self.copy = self.lease.bytes(self.nbytes)
        elif whole:
            self.memory = rows.buffer.part(rows.rows * start, rows.rows * stop)
        else:
            self.copy = np.empty(self.nbytes, np.uint8)
            self.memory = memory_of(self.copy.ctypes.data, self.nbytes)
        if load and self.copy is not None:
            self._load(self.copy.reshape(rows.rows, -1))

    def _load(self, copy: np.ndarray) -> None:
        source = self.rows.bytes(self.start, self.stop)
        if self.lease is None:
            copy[...] = source
            return
        stream = self.rows.buffer.stream
        source.get(copy, stream=stream)
        stream.synchronize()

    def finish(self, store: bool) -> None:
        """Release the memory, after its copy to the array is queued where `store`."""
        if self.copy is None:
            return
        copy = self.copy.reshape(self.rows.rows, -1)
        if self.lease is None:
            if store:
                self.rows.bytes(self.start, self.stop)[...] = copy
            return
        if store:
            stream = self.rows.buffer.stream
            self.rows.bytes(self.start, self.stop).set(copy, stream=stream)
            self.rows.staging.retire(self.lease, stream)
        else:
            self.rows.staging.give_back(self.lease)
