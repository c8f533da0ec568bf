# cupola/arrays/compaction.py - the elements or indices whose flag is set, in order.
"""`select` and `nonzero_of`, which masks and the functions of selection use."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from cupola.array import Array
from cupola.arrays.host_words import HostWord
from cupola.arrays.images import kernel
from cupola.arrays.launching import WIDTHS, launch
from cupola.arrays.plans import planned
from cupola.creation import empty, zeros
from cupola.kernel_constants import (
    SELECT_ITEMS,
    SELECT_ITEMS_16,
    SELECT_THREADS,
    SELECT_WIDE_THREADS,
)
from cupola.stream import refuse_captured

# The limit in bytes of an input whose results are written to memory of the input's length. Above
# the limit, the results are counted first.
MOST_ASIDE = 1 << 31
# Remedies in a capture: calls whose results have a size that the host knows.
_SIZE = "the size of the result depends on the elements; "
FOR_ELEMENTS = _SIZE + "cupola.where(mask, x, value) keeps the shape of x"
FOR_INDICES = _SIZE + (
    "mask.sum() counts the elements, and cupola.cumsum(mask) - 1 has the place of each in the "
    "result"
)
FOR_VALUES = _SIZE + (
    "cupola.sort(x.ravel()) has all elements, and s[1:] != s[:-1] tells where another value "
    "begins in the sorted array s"
)
FOR_SETS = _SIZE + "cupola.isin(x, y) tells which elements of x are in y"


def select(array: Array, mask: Array, title: str, remedy: str = FOR_ELEMENTS) -> Array:
    """The elements of an array where a mask of the same shape is true, along one axis.

    Waits for the count. In a capture an error, which names the remedy.
    """
    refuse_captured(array.device_index, title, remedy)
    if array.itemsize not in WIDTHS or array.ptr % array.itemsize:
        from cupola.arrays.gather import take_from
        from cupola.arrays.positions import Positions

        flat = nonzero_of(mask.reshape(-1), title)[0]
        source = array.reshape(-1)
        return take_from(
            source, 0, Positions(title, [flat], [0], [source.size], array.device_index)
        )
    source = array if array.flags.c_contiguous else array.copy()
    return _compacted(mask, source, array.dtype)


def nonzero_of(mask: Array, title: str, remedy: str = FOR_INDICES) -> tuple[Array, ...]:
    """The indices of the true elements of a mask, an array of int64 for each axis.

    Waits for the count. In a capture an error, which names the remedy.
    """
    refuse_captured(mask.device_index, title, remedy)
    flat = _compacted(mask, None, np.dtype(np.int64))
    if mask.ndim == 1:
        return (flat,)
    found: Array = empty((mask.ndim, flat.size), np.int64, device=mask.device_index)
    if flat.size:
        for axis, size in enumerate(mask.shape):
            divisor = math.prod(mask.shape[axis + 1 :])
            launch(
                "select", "select_axis", mask.device_index, flat.size, flat, found[axis],
                flat.size, divisor, size,
            )  # fmt: skip
    return tuple([found[axis] for axis in range(mask.ndim)])


def _compacted(mask: Array, source: Array | None, dtype: np.dtype[np.generic]) -> Array:
    """The source's elements, or else the flat indices, where the mask is true."""
    device, n = mask.device_index, mask.size
    if n == 0 or dtype.itemsize == 0:
        return empty(0, dtype, device=device)
    mask = mask if mask.flags.c_contiguous else mask.copy()
    if n * dtype.itemsize <= MOST_ASIDE:
        return cut(device, lambda count: _marked(mask, source, n, count))
    room = int(mask.sum().item())
    return cut(device, lambda count: _queue_marked(mask, source, room, count))


def cut(device: int, queue: Callable[[Array], Array]) -> Array:
    """The first elements of an array. Work that writes them also writes their number."""
    word = HostWord.take(device)
    out = queue(word.array)
    count = word.wait()
    # A view keeps the whole memory alive, so it must use a good part of that memory.
    return out[:count] if 3 * count >= out.size else out[:count].copy()


def _queue_marked(mask: Array, source: Array | None, room: int, count: Array) -> Array:
    device, n = mask.device_index, mask.size
    dtype = np.dtype(np.int64) if source is None else source.dtype
    out: Array = empty(room, dtype, device=device)
    size = 0 if source is None else dtype.itemsize
    name = "select_indices" if source is None else f"select_{dtype.itemsize * 8}"
    sources = () if source is None else (source,)
    tiles, threads, states = tiles_of(n, size, device)
    kernel("select", name, device)[tiles, threads](mask, *sources, out, states, count, n)
    return out


_marked = planned(_queue_marked)


def tiles_of(n: int, size: int, device: int) -> tuple[int, int, Array | None]:
    """Tiles for elements of a size, threads of a tile, and states of the tiles of several."""
    threads = SELECT_WIDE_THREADS if size > 4 else SELECT_THREADS
    tiles = -(-n // (threads * (SELECT_ITEMS_16 if size == 16 else SELECT_ITEMS)))
    return tiles, threads, zeros(tiles, np.uint64, device=device) if tiles > 1 else None
