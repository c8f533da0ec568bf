# heat/blocks.py - plates larger than one machine's memory, in blocks on a Dask cluster.
"""Heat on a plate whose blocks of rows lie on the workers of a Dask cluster.

::

    from dask.distributed import Client
    from heat import blocks

    client = Client(address, direct_to_workers=True)     # if the client can reach the workers
    plate = np.lib.format.open_memmap("plate.npy")       # larger than a worker's memory
    after = blocks.spread(plate, 100, client)            # a dask.array, on the workers' devices
    blocks.spread(plate, 100, client, out=another_memmap)

A block stays on its worker, and advances several steps by itself. For that it gets as many ghost
rows of its neighbors as it takes steps: an error at the edge of the ghost rows moves one row in
each step. Only ghost rows travel between workers::

    worker 1 | block 0 | block 1 | bottom of block 1 --+
                                                       v
    worker 2                                      | block 2 | block 3 |
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any
from uuid import uuid4

import dask
import dask.array as da
import numpy as np
from dask.highlevelgraph import HighLevelGraph
from distributed import Client, wait

import cupola
import heat

__all__ = ["spread"]

# The default size of a block. A task has three blocks in memory.
BLOCK_BYTES = 256 << 20
LEAST_DEPTH = 8
EXCHANGES = 16  # in a graph: the scheduler has two graphs at a time


def spread(
    temperatures: Any,
    steps: int,
    client: Client,
    rate: float = 0.2,
    *,
    rows: int | None = None,
    depth: int | None = None,
    on_device: bool | None = None,
    out: Any = None,
) -> Any:
    """Temperatures after so many steps, the same bits as `heat.spread` gives.

    Parameters
    ----------
    temperatures : dask.array or (rows, columns) array of float32 or float64
        A host array, such as a memory-mapped file, is sent to the cluster block by block.
    steps : int
    client : distributed.Client
        With ``direct_to_workers=True`` blocks of the host do not pass through the scheduler.
    rate : float
        As of `heat.Plate`.
    rows : int, optional
        Rows of a block. By default each worker has one block or more, of at most 256 MiB; a
        dask.array keeps its blocks.
    depth : int, optional
        Steps between two exchanges of ghost rows; at most the rows of a block. A block computes
        2 `depth` rows more in each step. By default 1/64 of the rows of a block, or 8.
    on_device : bool, optional
        Whether blocks are `cupola.Array` of the workers' devices, or NumPy's arrays, which each
        exchange copies to the device and back. By default the blocks of a host array are on the
        devices, and those of a dask.array stay where they are.
    out : array, optional
        Receives the result block by block, such as a memory-mapped file.

    Returns
    -------
    dask.array or array
        The result in blocks on the cluster, as ``persist`` gives it, or `out`.

    Raises
    ------
    TypeError, ValueError
        Where an argument is wrong; nothing was sent.

    Notes
    -----
    The cluster has up to two copies of the plate. Workers of `cupola.distributed` spill blocks from
    the device to the host, and from there to disk; other workers only to disk. Work on a device is
    queued on the current stream of the task's thread, and a task does not wait for it.
    """
    if steps < 0:
        raise ValueError(f"steps is 0 or more, got {steps}: time does not run back")
    if depth is not None and depth < 1:
        raise ValueError(f"depth is 1 or more, got {depth}")
    if not 0 <= rate <= 0.25:
        raise ValueError(f"rate is 0 to 0.25, got {rate}")
    if temperatures.ndim != 2 or temperatures.dtype not in heat._KINDS:
        raise TypeError(
            f"temperatures are two-dimensional float32 or float64, got {temperatures.dtype} of "
            f"shape {temperatures.shape}"
        )
    if isinstance(temperatures, da.Array):
        plate = temperatures.rechunk({0: rows, 1: -1} if rows else {1: -1})
        if on_device is not None:
            plate = plate.to_backend("cupola" if on_device else "numpy")
        depth = _depth(plate.chunks[0], depth, steps)
        plate = client.persist(plate)
    else:
        workers = [*client.ncores()]
        lengths = _lengths(len(temperatures), rows or _rows(temperatures, len(workers)))
        depth = _depth(lengths, depth, steps)
        plate = _sent(temperatures, client, workers, lengths, on_device is not False)
    wait(plate)
    futures = _futures(plate)
    where = client.who_has(futures)
    homes = [where[future.key] for future in futures]
    before = None
    for first in range(0, steps, depth * EXCHANGES):
        last = min(first + depth * EXCHANGES, steps)
        for done in range(first, last, depth):
            plate = _exchanged(plate, homes, min(depth, last - done), rate)
        plate = client.persist(plate, optimize_graph=False)
        if before is not None:
            wait(before)
        before = plate
    return plate if out is None else _received(plate, client, out)


def _rows(temperatures: Any, workers: int) -> int:
    """Rows of a block of a host array by default."""
    count, columns = temperatures.shape
    largest = BLOCK_BYTES // max(columns * temperatures.dtype.itemsize, 1)
    return max(min(largest, -(-count // workers)), LEAST_DEPTH)


def _lengths(count: int, rows: int) -> tuple[int, ...]:
    """The rows of each block; the last two are one where the last has too few."""
    bounds = [*range(0, count, rows), count]
    if len(bounds) > 2 and bounds[-1] - bounds[-2] < rows:
        del bounds[-2]
    return tuple(stop - start for start, stop in pairwise(bounds))


def _depth(lengths: tuple[int, ...], depth: int | None, steps: int) -> int:
    """Steps between two exchanges, for blocks of so many rows."""
    least = min(lengths)
    if depth is None:
        return max(least // 64, min(LEAST_DEPTH, least), 1)
    if len(lengths) > 1 and least < min(depth, steps):
        raise ValueError(
            f"depth is at most the rows of a block, got {depth}, and a block of {least} rows: pass "
            "more rows= or less depth="
        )
    return depth


def _sent(
    temperatures: Any, client: Client, workers: list[str], lengths: tuple[int, ...], on_device: bool
) -> da.Array:
    """A host array in blocks, each on the worker of its neighbors where possible."""
    bounds = np.cumsum((0, *lengths))

    def send(number: int) -> Any:
        home = [workers[number * len(workers) // len(lengths)]]
        block = np.ascontiguousarray(temperatures[bounds[number] : bounds[number + 1]])
        sent = client.scatter(block.view(np.ndarray), workers=home, hash=False)
        if not on_device:
            return sent
        return client.submit(
            cupola.to_device, sent, workers=home, allow_other_workers=True, pure=False
        )

    with ThreadPoolExecutor(len(workers)) as pool:
        futures = pool.map(send, range(len(lengths)))
        name = f"plate-{uuid4().hex}"
        layer = {(name, number, 0): future for number, future in enumerate(futures)}
    meta = (cupola if on_device else np).empty((0, 0), temperatures.dtype)
    return da.Array(layer, name, (lengths, (temperatures.shape[1],)), meta=meta)


def _exchanged(plate: da.Array, homes: list[Any], steps: int, rate: float) -> da.Array:
    """The plate after so many steps: a task for each block and one for each edge of it."""
    token = uuid4().hex
    name, top, bottom = f"advanced-{token}", f"top-{token}", f"bottom-{token}"
    blocks = [key for (key,) in plate.__dask_keys__()]
    layer: dict[Any, Any] = {}
    for number, block in enumerate(blocks):
        above = below = None
        if number > 0:
            layer[top, number] = _edge, block, 0, steps
            above = bottom, number - 1
        if number < len(blocks) - 1:
            layer[bottom, number] = _edge, block, -steps, None
            below = top, number + 1
        layer[name, number, 0] = _advanced, block, above, below, steps, rate
    # A block's tasks run where it is, or elsewhere where that worker is gone.
    with dask.annotate(workers=lambda key: homes[key[1]], allow_other_workers=True):
        graph = HighLevelGraph.from_collections(name, layer, dependencies=[plate])
    return da.Array(graph, name, plate.chunks, meta=plate._meta)


def _edge(block: Any, start: int, stop: int | None) -> Any:
    return block[start:stop].copy()


def _advanced(block: Any, above: Any, below: Any, steps: int, rate: float) -> Any:
    """A block after so many steps, of the host or of a device as it was."""
    parts = [part for part in (above, block, below) if part is not None]
    bounds = np.cumsum([0, *map(len, parts)])
    whole = cupola.empty((int(bounds[-1]), block.shape[1]), block.dtype)
    for part, (start, stop) in zip(parts, pairwise(bounds), strict=True):
        whole[start:stop] = part
    plate = heat.Plate(whole, rate, copy=False)
    plate.advance(steps)
    first = 0 if above is None else len(above)
    after = plate.temperatures[first : first + len(block)]
    return after if isinstance(block, cupola.Array) else after.get()


def _received(plate: da.Array, client: Client, out: Any) -> Any:
    """Copies the blocks to `out`, as many at a time as there are workers."""
    futures = _futures(plate)
    bounds = np.cumsum((0, *plate.chunks[0]))

    def receive(number: int) -> None:
        future = futures[number]
        if isinstance(plate._meta, cupola.Array):
            future = client.submit(_to_host, future, pure=False)
        out[bounds[number] : bounds[number + 1]] = future.result()

    with ThreadPoolExecutor(len(client.ncores())) as pool:
        for _ in pool.map(receive, range(len(futures))):
            pass  # raises what a block raised
    return out


def _to_host(block: cupola.Array) -> np.ndarray:
    return block.get()


def _futures(plate: da.Array) -> list[Any]:
    """Those of the blocks of a plate on the cluster."""
    return [plate.dask[key] for (key,) in plate.__dask_keys__()]
