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
        self.staged = link.stages(buffer)
        if buffer.on_device and not self.staged:
            buffer.stream.synchronize()

    def part(self, start: int, stop: int, load: bool) -> Part:
        """Bytes from `start` to `stop` of each row; with the array's elements where `load`."""
        return Part(self, start, stop, load)

    def bytes(self, start: int, stop: int) -> Any:
        """A range of bytes of each row, as a view (rows, bytes) of the array."""
        return self.buffer.contents.reshape(self.rows, self.width)[:, start:stop]


class Part:
    """Memory of a part, contiguous: the array's own, or a copy in a lease or on the host.

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
        elif whole:
            self.memory = rows.buffer.part(rows.rows * start, rows.rows * stop)
        else:
            self.copy = np.empty((rows.rows, stop - start), np.uint8)
            self.memory = memory_of(self.copy.ctypes.data, self.nbytes)
        if load and self.lease is not None:
            self.lease.load(rows.bytes(start, stop), rows.buffer.stream)
            rows.buffer.stream.synchronize()
        elif load and self.copy is not None:
            self.copy[...] = rows.bytes(start, stop)

    def finish(self, store: bool) -> None:
        """Release the memory, after its copy to the array is queued where `store`."""
        rows = self.rows
        if self.lease is not None:
            if store:
                self.lease.store(rows.bytes(self.start, self.stop), rows.buffer.stream)
                rows.staging.retire(self.lease, rows.buffer.stream)
            else:
                rows.staging.give_back(self.lease)
        elif store and self.copy is not None:
            rows.bytes(self.start, self.stop)[...] = self.copy
