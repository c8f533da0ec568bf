# cupola/arrays/gather.py - copies of elements from and to positions along some axes.
"""`take_from`, `put_into` and their forms along an axis, which all kinds of indexing use."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from cupola.array import Array
from cupola.arrays.images import kernel
from cupola.arrays.launching import BLOCK, MAX_BLOCKS, WIDTHS, launch, widest
from cupola.arrays.layouts import Rows, broadcast_to, overlap, rows_of, start, width_of
from cupola.arrays.positions import CHECKED, Positions, suffix
from cupola.creation import empty, zeros
from cupola.device import is_cpu
from cupola.kernel_constants import (
    INDEX_FEW,
    INDEX_FEW_THREADS,
    INDEX_LANES,
    INDEX_ROW_WORDS,
    PUT_PASS,
)

WRITE, MARK, REPAIR = (PUT_PASS[name] for name in ("WRITE", "MARK", "REPAIR"))
# In a gather of single words: `lanes` times `groups` of the kernel, for indices of 64 bits.
WORDS_OF_A_THREAD = 4
# Blocks of the kernels that end at once where all indices are different.
_BLOCKS_OF_REPAIR = 2048
# The most words that blocks write which find the last of few equal indices, each for itself.
_MOST_WORDS_OF_FEW = 1 << 18


def take_from(view: Array, before: int, positions: Positions) -> Array:
    """The elements at positions along the axes from `before` on, as a new array in C order."""
    axes = len(positions.sizes)
    shape = (*view.shape[:before], *positions.shape, *view.shape[before + axes :])
    out: Array = empty(shape, view.dtype, device=view.device_index)
    if out.nbytes and math.prod(positions.sizes):
        _take(view, before, positions, out)
    positions.check()
    return out


def _take(view: Array, before: int, positions: Positions, out: Array) -> None:
    rows = rows_of(view, before, len(positions.sizes))
    width = None if rows is None else width_of([view], [rows])
    if rows is None or width is None:
        _take(view.copy(), before, positions, out)
        return
    _launch_take(view, rows, width, positions, out, along=False)


def take_along(view: Array, axis: int, positions: Positions) -> Array:
    """The elements by an array of indices for each row along an axis, as a new array in C order.

    Parameters
    ----------
    positions : Positions
        Of one axis. Their shape is that of the view but along the axis.
    """
    out: Array = empty(positions.shape, view.dtype, device=view.device_index)
    if out.nbytes:
        if not _moves_whole(view, axis):
            view = view.copy()
        if _moves_whole(view, axis):
            rows = rows_of(view, axis, 1)
            assert rows is not None
            _launch_take(view, rows, view.itemsize, positions, out, along=True)
        else:
            words = _words(view)
            out = take_along(words, axis, positions.repeated(words.shape[-1]))
            return out.reshape(-1).view(view.dtype).reshape(positions.shape)
    positions.check()
    return out


def _launch_take(
    view: Array, rows: Rows, width: int, positions: Positions, out: Array, *, along: bool
) -> None:
    outer, inner, outer_step, inner_step = rows.counted(view.itemsize, width)
    index, step, mode = positions.single(rows.steps, width)
    count = index.size // (outer * inner) if along else index.size
    lanes = _lanes(inner)
    if along or outer == inner == 1:
        threads = -(-out.nbytes // (width * WORDS_OF_A_THREAD))
    else:
        threads = _threads_of_rows(outer * count, inner, lanes)
    launch(
        "index", f"index_take_{width * 8}_{suffix(index)}", view.device_index, threads,
        start(view), out, index, outer, count, inner, outer_step, step, inner_step,
        positions.sizes[0], mode, int(along), lanes, *positions.report(mode),
    )  # fmt: skip


def _lanes(inner: int) -> int:
    """Threads that share a row of words."""
    wanted = -(-inner // INDEX_ROW_WORDS)
    return min(INDEX_LANES, 1 << (wanted - 1).bit_length())


def _threads_of_rows(rows: int, inner: int, lanes: int) -> int:
    return rows * -(-inner // (INDEX_ROW_WORDS * lanes)) * lanes


def _moves_whole(view: Array, axis: int) -> bool:
    """Whether words of an element's size move the elements along an axis."""
    rows = rows_of(view, axis, 1)
    if rows is None or view.itemsize not in WIDTHS:
        return False
    steps = rows.outer[1], *rows.steps, rows.inner[1] if rows.inner[0] != 1 else 0
    return not any(one % view.itemsize for one in (view.ptr, *steps))


def _words(array: Array) -> Array:
    """The words of elements along one more axis. The array is contiguous."""
    width = min(widest([array.itemsize, array.ptr]), 8)
    words: Array = array.reshape(-1).view(f"u{width}")
    return words.reshape(*array.shape, array.itemsize // width)


def put_into(view: Array, before: int, positions: Positions, values: Array) -> None:
    """Write values to positions; of several equal positions the last one's value stays.

    An index on the device that is out of range is reported, and nothing is written for it.

    Parameters
    ----------
    values : Array
        Of the view's dtype, and a shape that broadcasts to that of the indexed elements.
    """
    axes = len(positions.sizes)
    shape = (*view.shape[:before], *positions.shape, *view.shape[before + axes :])
    source = _source(view, positions, values, shape)
    if source is None:
        return
    rows = rows_of(view, before, axes)
    sources = rows_of(source, before, len(positions.shape), join=True)
    width = _width(view, rows, source, sources)
    if sources is None or (rows is not None and width is None):
        source = source.copy()
        sources = rows_of(source, before, len(positions.shape), join=True)
        width = _width(view, rows, source, sources)
    if rows is None or sources is None or width is None:
        copied = view.copy()
        put_into(copied, before, positions, source)
        view[...] = copied
        return
    _put(view, rows, source, sources, width, positions, along=False)


def put_along(view: Array, axis: int, positions: Positions, values: Array) -> None:
    """Write values by an array of indices for each row along an axis.

    Parameters
    ----------
    view : Array
        Contiguous.
    positions : Positions
        Of one axis. Their shape is that of the view but along the axis.
    values : Array
        Of the view's dtype, and a shape that broadcasts to that of the positions.
    """
    source = _source(view, positions, values, positions.shape)
    if source is None:
        return
    if not _moves_whole(view, axis):
        words, source = _words(view), source.copy()
        of_words = source.reshape(-1).view(words.dtype).reshape(*source.shape, words.shape[-1])
        put_along(words, axis, positions.repeated(words.shape[-1]), of_words)
        return
    if not _moves_whole(source, axis):
        source = source.copy()
    rows, sources = rows_of(view, axis, 1), rows_of(source, axis, 1)
    assert rows is not None and sources is not None
    _put(view, rows, source, sources, view.itemsize, positions, along=True)


def _source(
    view: Array, positions: Positions, values: Array, shape: tuple[int, ...]
) -> Array | None:
    """The values in a shape, without memory of the view; None where nothing is written."""
    values = broadcast_to(values, shape)
    if values.size == 0 or view.itemsize == 0:
        positions.check()
        return None
    positions.copy_if_overlapping(view)
    return values.copy() if overlap(view, values) else values


def _width(view: Array, rows: Rows | None, source: Array, sources: Rows | None) -> int | None:
    """As `width_of`; None where one of the arrays has no rows."""
    if rows is None or sources is None:
        return None
    return width_of([view, source], [rows, sources])


class _Equal(NamedTuple):
    """How the kernel finds the last of equal indices."""

    winners: Array | None = None  # the number + 1 of each position's last index
    places: Array | None = None  # the number of each index's position, where it is not the index
    marks: Array | None = None  # bits of positions
    positions: int = 0
    slots: int = 0  # of a hash table in shared memory


def _put(
    view: Array, rows: Rows, values: Array, sources: Rows, width: int, positions: Positions, *,
    along: bool,
) -> None:  # fmt: skip
    outer, inner, outer_step, inner_step = rows.counted(view.itemsize, width)
    _, _, from_outer, from_inner = sources.counted(view.itemsize, width)
    index, step, mode = positions.single(rows.steps, width)
    from_step = sources.steps[0] // width
    count = index.size // (outer * inner) if along else index.size
    lanes = 1 if along else _lanes(inner)
    equal = _Equal()
    if from_step and not positions.all_different():
        equal = _equal(positions, index, mode, (outer, count, inner), along)
    number = index.size if along else _threads_of_rows(outer * count, inner, lanes)
    target = kernel("index", f"index_put_{width * 8}_{suffix(index)}", view.device_index)

    def put(step_of_put: int, most: int, block: int = BLOCK) -> None:
        grid = min(-(-number // block), most)
        target[grid, block, None, 4 * equal.slots](
            start(view), start(values), index, *equal, step_of_put, outer, count, inner,
            outer_step, step, inner_step, from_outer, from_step, from_inner, positions.sizes[0],
            mode, int(along), lanes, *positions.report(mode),
        )  # fmt: skip

    if equal.marks is None:
        put(WRITE, MAX_BLOCKS, INDEX_FEW_THREADS if equal.slots > INDEX_FEW_THREADS else BLOCK)
        return
    put(MARK, MAX_BLOCKS)
    _find_winners(equal, positions, index, mode, (outer, count, inner), along)
    put(REPAIR, _BLOCKS_OF_REPAIR)


def _equal(
    positions: Positions, index: Array, mode: int, lengths: tuple[int, int, int], along: bool
) -> _Equal:
    """How the last of equal indices is found.

    Few indices are put into a hash table by each block. Otherwise a write of single words marks
    positions, so that only equal indices cost more than the write. A write of rows is preceded by a
    search of the winners, which costs less than the rows. So is each write on the CPU device, where
    launches and accesses of memory cost less than atomic operations.
    """
    outer, _, inner = lengths
    on_cpu = is_cpu(index.device_index)
    if not on_cpu and index.size <= INDEX_FEW and math.prod(lengths) <= _MOST_WORDS_OF_FEW:
        return _Equal(slots=2 << (index.size - 1).bit_length())
    device, size = index.device_index, math.prod(positions.sizes)
    places = positions.places() if len(positions.sizes) > 1 else None
    if along:
        size *= outer * inner
    if on_cpu or (outer * inner > 1 and not along):
        equal = _Equal(zeros(size, np.int64, device=device), places)
        _find_winners(equal, positions, index, mode, lengths, along)
        return equal
    winners: Array = empty(size, np.int64, device=device)
    return _Equal(winners, places, zeros(1 + 2 * -(-size // 32), np.uint32, device=device), size)


def _find_winners(
    equal: _Equal, positions: Positions, index: Array, mode: int, lengths: tuple[int, int, int],
    along: bool,
) -> None:  # fmt: skip
    if equal.places is not None:
        index, mode = equal.places, CHECKED
    most = MAX_BLOCKS if equal.marks is None else _BLOCKS_OF_REPAIR
    blocks = min(-(-index.size // BLOCK), most)
    kernel("index", f"index_winners_{suffix(index)}", index.device_index)[blocks, BLOCK](
        index, equal.winners, equal.marks, equal.positions, *lengths, positions.sizes[0], mode,
        int(along),
    )  # fmt: skip
