# cupola/arrays/gather.py - copies of elements from and to positions along some axes.
"""`take_from` and `put_into`, which all kinds of indexing use."""

from __future__ import annotations

import math

import numpy as np

from cupola.array import Array
from cupola.arrays.launching import launch
from cupola.arrays.layouts import (
    Rows,
    broadcast_to,
    overlap,
    rows_of,
    start,
    width_of,
)
from cupola.arrays.positions import CHECKED, Positions, suffix
from cupola.creation import empty, zeros

# In a gather of single words: `lanes` times `groups` of the kernel, for indices of 64 bits.
WORDS_OF_A_THREAD = 4


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
    outer, inner, outer_step, inner_step = rows.counted(view.itemsize, width)
    index, step, mode = positions.single(rows.steps, width)
    words = out.nbytes // width
    if outer == inner == 1:
        words = -(-words // WORDS_OF_A_THREAD)
    launch(
        "index", f"index_take_{width * 8}_{suffix(index)}", view.device_index, words, start(view),
        out, index, outer, index.size, inner, outer_step, step, inner_step, positions.sizes[0],
        mode, *positions.report(mode),
    )  # fmt: skip


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
    values = broadcast_to(values, shape)
    if values.size == 0 or view.itemsize == 0:
        positions.check()
        return
    if overlap(view, values):
        values = values.copy()
    positions.copy_if_overlapping(view)
    rows = rows_of(view, before, axes)
    sources = rows_of(values, before, len(positions.shape), join=True)
    if sources is None or (rows is not None and width_of([view, values], [rows, sources]) is None):
        values = values.copy()
        sources = rows_of(values, before, len(positions.shape), join=True)
    assert sources is not None
    if rows is None or width_of([view, values], [rows, sources]) is None:
        copied = view.copy()
        put_into(copied, before, positions, values)
        view[...] = copied
        return
    _put(view, rows, values, sources, positions)


def _put(view: Array, rows: Rows, values: Array, sources: Rows, positions: Positions) -> None:
    width = width_of([view, values], [rows, sources])
    assert width is not None
    outer, inner, outer_step, inner_step = rows.counted(view.itemsize, width)
    _, _, from_outer, from_inner = sources.counted(view.itemsize, width)
    index, step, mode = positions.single(rows.steps, width)
    from_step = sources.steps[0] // width
    winners = places = None
    if from_step and not positions.all_different():
        places = positions.places() if len(positions.sizes) > 1 else None
        winners = _winners(positions, index if places is None else places, mode)
    launch(
        "index", f"index_put_{width * 8}_{suffix(index)}", view.device_index,
        outer * index.size * inner, start(view), start(values), index, winners, places, outer,
        index.size, inner, outer_step, step, inner_step, from_outer, from_step, from_inner,
        positions.sizes[0], mode, *positions.report(mode),
    )  # fmt: skip


def _winners(positions: Positions, places: Array, mode: int) -> Array:
    """For each position the number + 1 of the last index that names it."""
    device = places.device_index
    winners: Array = zeros(math.prod(positions.sizes), np.int64, device=device)
    mode = mode if len(positions.sizes) == 1 else CHECKED
    launch(
        "index", f"index_winners_{suffix(places)}", device, places.size, places, winners,
        places.size, positions.sizes[0], mode,
    )  # fmt: skip
    return winners
