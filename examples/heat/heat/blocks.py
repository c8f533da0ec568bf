# heat/blocks.py - plates larger than one machine's memory, in blocks on a Dask cluster.
"""Heat on a plate whose blocks of rows lie on the workers of a Dask cluster.

::

    from dask.distributed import Client
    from heat import blocks

    plate = np.lib.format.open_memmap("plate.npy")       # larger than a worker's memory
    after = blocks.spread(plate, 100, Client(address))   # a dask.array, on the cluster
    blocks.spread(plate, 100, Client(address), out=another_memmap)

A block advances several steps by itself. For that it gets as many ghost rows of its neighbors as it
takes steps: an error at the edge of the ghost rows moves one row in each step.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, wait

import heat

__all__ = ["spread"]

BLOCK_BYTES = 32 << 20


def spread(
    temperatures: Any,
    steps: int,
    client: Client,
    rate: float = 0.2,
    *,
    rows: int | None = None,
    depth: int = 8,
    out: Any = None,
) -> Any:
    """Temperatures after so many steps, the same bits as `heat.spread` gives.

    Parameters
    ----------
    temperatures : dask.array or (rows, columns) array of float32 or float64
        A host array, such as a memory-mapped file, is sent to the cluster block by block.
    steps : int
    client : distributed.Client
        The cluster has two copies of the plate at a time. Dask moves blocks to a worker's disk
        where they take too much of its memory.
    rate : float
        As of `heat.Plate`.
    rows : int, optional
        Rows of a block; by default 32 MiB, or the blocks of a dask.array.
    depth : int
        Steps between two exchanges of ghost rows; at most the rows of a block.
    out : array, optional
        Receives the result block by block, such as a memory-mapped file.

    Returns
    -------
    dask.array or array
        The result in blocks on the cluster, or `out`.
    """
    if steps < 0:
        raise ValueError(f"steps is 0 or more, got {steps}: time does not run back")
    if depth < 1:
        raise ValueError(f"depth is 1 or more, got {depth}")
    plate = _in_blocks(temperatures, client, rows)
    least = min(plate.chunks[0])
    if len(plate.chunks[0]) > 1 and least < min(depth, steps):
        raise ValueError(
            f"depth is at most the rows of a block, got {depth}, and a block of {least} rows: pass "
            "more rows= or less depth="
        )
    for done in range(0, steps, depth):
        ghosts = min(depth, steps - done)
        plate = da.map_overlap(
            _advanced,
            plate,
            depth={0: ghosts, 1: 0},
            boundary="none",  # the plate's own border stays as it is
            meta=np.empty((0, 0), plate.dtype),
            steps=ghosts,
            rate=rate,
        )
        plate = client.persist(plate)
        wait(plate)  # the blocks before it are released
    if out is None:
        return plate
    start = 0
    for number, length in enumerate(plate.chunks[0]):
        out[start : start + length] = client.compute(plate.blocks[number]).result()
        start += length
    return out


def _in_blocks(temperatures: Any, client: Client, rows: int | None) -> da.Array:
    """The plate as a dask.array in blocks of whole rows."""
    if isinstance(temperatures, da.Array):
        return temperatures.rechunk({0: rows or "auto", 1: -1} if rows else {1: -1})
    if temperatures.ndim != 2:
        raise TypeError(f"temperatures are two-dimensional, got shape {temperatures.shape}")
    count, columns = temperatures.shape
    rows = rows or max(BLOCK_BYTES // max(columns * temperatures.itemsize, 1), 1)
    bounds = [*range(0, count, rows), count]
    if len(bounds) > 2 and bounds[-1] - bounds[-2] < rows:
        del bounds[-2]  # the last two blocks are one
    parts = []
    for start, stop in pairwise(bounds):
        block = np.ascontiguousarray(temperatures[start:stop])
        sent = dask.delayed(client.scatter(block.view(np.ndarray), hash=False))
        parts.append(da.from_delayed(sent, block.shape, block.dtype))
    return da.concatenate(parts)


def _advanced(block: np.ndarray, steps: int, rate: float) -> np.ndarray:
    return heat.spread(block, steps, rate)
