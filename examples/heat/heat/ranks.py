# heat/ranks.py - a plate on the ranks of MPI: mpiexec -n 3 python -m mpi4py -m heat.ranks PLATE.npy
"""Heat on a plate that several ranks share, each of them with a band of its rows.

A rank has its own rows and `halo` rows of each neighbour, its halos. In a step, one stream computes
the rows at the edges of the band, and another one the inner rows. The edges are exchanged while the
inner rows are computed::

    edge stream    | edges |-- exchange --|       | edges |-- exchange --|
    inner stream   |      inner rows      |       |      inner rows      |
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from mpi4py import MPI

import cupola
from cupola.mpi import Communicator, Request
from heat import _KINDS, kernels

_BLOCK = 32, 8


def bounds(rows: int, size: int, rank: int) -> tuple[int, int]:
    """The first row of a rank's band, and the row after its last one."""
    return rank * rows // size, (rank + 1) * rows // size


class Band:
    """The rows of one rank, and the halos beside them.

    Parameters
    ----------
    comm : cupola.mpi.Communicator
        Each of its ranks makes a band of the same plate.
    plate : (rows, columns) array of float32 or float64
        The whole plate, as a memory-mapped file for example: only the band is read.
    rate : float
        As of `heat.Plate`.
    halo : int
        Rows that neighbours exchange, every `halo` steps.
    """

    def __init__(self, comm: Communicator, plate, rate: float = 0.2, halo: int = 1) -> None:
        if plate.ndim != 2 or plate.dtype not in _KINDS:
            raise TypeError(
                f"plate is two-dimensional float32 or float64, got {plate.dtype} of shape "
                f"{plate.shape}"
            )
        if not 0 <= rate <= 0.25:
            raise ValueError(f"rate is 0 to 0.25, got {rate}")
        self.rows, self.columns = plate.shape
        if halo < 1 or self.rows // comm.size < halo:
            raise ValueError(
                f"halo is at least 1, and each rank has as many rows: got halo {halo}, and "
                f"{self.rows} rows on {comm.size} ranks"
            )
        self.comm, self.rate, self.halo = comm, rate, halo
        self.first, self.last = bounds(self.rows, comm.size, comm.rank)
        self._base = max(0, self.first - halo)  # the row of the plate that memory begins with
        end = min(self.rows, self.last + halo)
        self._now = cupola.to_device(np.ascontiguousarray(plate[self._base : end]))
        self._spare = self._now.copy()  # the plate's first and last row stay as they are
        self._kernel = getattr(kernels, f"advance_rows_{_KINDS[plate.dtype]}")
        # The edges are computed first, though the inner rows have many more blocks.
        _, highest = cupola.Stream.priorities()
        self._edge = cupola.Stream(non_blocking=True, priority=highest)
        self._inner = cupola.Stream(non_blocking=True)
        self._valid = halo  # rows of the halos that are of this time
        self.steps = 0

    @property
    def temperatures(self) -> cupola.Array:
        """The temperatures of the rank's own rows, `first` to `last` - 1."""
        return self._now[self.first - self._base : self.last - self._base]

    def advance(self, steps: int = 1000) -> None:
        """Let time pass. Collective; the current stream waits for the work that it queues."""
        if steps < 0:
            raise ValueError(f"steps is 0 or more, got {steps}: time does not run back")
        current, edge, inner = cupola.Stream.current(), self._edge, self._inner
        edge.wait(current)
        inner.wait(current)
        edge_done = inner_done = current.record()
        for _ in range(steps):
            beyond = self._valid - 1  # rows of each halo that this step computes, too
            inside = self.first + self.halo, self.last - self.halo
            edge.wait(inner_done)
            inner.wait(edge_done)
            self._launch(edge, self.first - beyond, min(inside[0], self.last + beyond))
            self._launch(edge, max(inside), self.last + beyond)
            edge_done = edge.record()
            self._launch(inner, *inside)
            inner_done = inner.record()
            self._now, self._spare = self._spare, self._now
            self._valid = beyond or self._exchange()
        current.wait(edge)
        current.wait(inner)
        self.steps += steps

    def _launch(self, stream: cupola.Stream, start: int, stop: int) -> None:
        """Queue a step of the plate's rows `start` to `stop` - 1, but for its border."""
        start, stop = max(start, 1), min(stop, self.rows - 1)
        if start < stop:
            grid = (self.columns + 31) // 32, (stop - start + 7) // 8
            self._kernel[grid, _BLOCK, stream](
                self._spare, self._now, start - self._base, stop - start, self.columns, self.rate
            )

    def _exchange(self) -> int:
        """Exchange the edges with the neighbours' halos; returns their number of rows."""
        halo, comm, requests = self.halo, self.comm, []
        for peer, own, theirs in (
            (comm.rank - 1, self.first, self.first - halo),
            (comm.rank + 1, self.last - halo, self.last),
        ):
            if 0 <= peer < comm.size:
                target = self._rows(theirs)
                requests.append(comm.Irecv(target, peer, stream=self._edge))
                requests.append(comm.Isend(self._rows(own), peer, stream=self._edge))
        Request.Waitall(requests)
        return halo

    def _rows(self, start: int) -> cupola.Array:
        return self._now[start - self._base : start - self._base + self.halo]


def write(band: Band, path: str) -> None:
    """Write the plate as a .npy file; collective. Each rank writes its own rows."""
    own = band.temperatures
    if band.comm.rank == 0:
        shape = band.rows, band.columns
        np.lib.format.open_memmap(path, "w+", own.dtype, shape).flush()
    band.comm.Barrier()
    file = np.load(path, mmap_mode="r+")
    own.get(out=file[band.first : band.last])
    file.flush()
    band.comm.Barrier()


def main() -> None:
    """The program: reads a plate, lets time pass, writes the plate."""
    parser = argparse.ArgumentParser(prog="heat.ranks", description=__doc__.split("\n")[0])
    parser.add_argument("plate", help="a .npy file of two-dimensional float32 or float64")
    parser.add_argument("-o", "--output", default="out.npy")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--rate", type=float, default=0.2)
    parser.add_argument("--halo", type=int, default=1, help="rows exchanged every so many steps")
    given = parser.parse_args()
    with Communicator(MPI.COMM_WORLD) as comm:
        band = Band(comm, np.load(given.plate, mmap_mode="r"), given.rate, given.halo)
        comm.Barrier()
        began = time.perf_counter()
        band.advance(given.steps)
        cupola.Stream.current().synchronize()
        comm.Barrier()
        seconds = time.perf_counter() - began
        write(band, given.output)
        if comm.rank == 0:
            print(
                f"{given.steps} steps of {band.rows} x {band.columns} points on {comm.size} ranks "
                f"in {seconds:.2f} s, {comm.transport.name}: {given.output}"
            )


if __name__ == "__main__":
    main()
