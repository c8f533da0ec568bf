# cupola/arrays/distinct.py - the different elements of an array, by a sort and one selection.
"""`distinct`, which the functions of sets use."""

from __future__ import annotations

from cupola.array import Array
from cupola.arrays.compaction import cut, tiles_of
from cupola.arrays.images import kernel
from cupola.arrays.key_order import key_order
from cupola.arrays.plans import planned
from cupola.arrays.sorts import sorted_rows
from cupola.creation import empty

# The elements from which on the call also waits for counts of digits, which may shorten the sort.
LEAST_WAITING = 1 << 22


def distinct(array: Array, equal_nan: bool) -> Array:
    """The different elements of an array with one axis, in order. Waits for their number.

    Parameters
    ----------
    array : Array
        Contiguous, of bool or real numbers.
    """
    if array.nbytes == 0:
        return array.copy()
    if array.size < LEAST_WAITING:
        return cut(array.device_index, lambda count: _distinct(array, equal_nan, count))
    known = sorted_rows(array, waits=True)
    return cut(array.device_index, lambda count: _queue_distinct(known, equal_nan, count))


@planned
def _distinct(array: Array, equal_nan: bool, count: Array) -> Array:
    return _queue_distinct(sorted_rows(array), equal_nan, count)


def _queue_distinct(known: Array, equal_nan: bool, count: Array) -> Array:
    device, dtype = known.device_index, known.dtype
    out: Array = empty(known.shape, dtype, device=device)
    tiles, threads, states = tiles_of(known.size, dtype.itemsize, device)
    kernel("select", f"select_changes_{8 * dtype.itemsize}", device)[tiles, threads](
        known, out, states, count, known.size, key_order(dtype),
        int(equal_nan or dtype.kind != "f"),
    )  # fmt: skip
    return out
