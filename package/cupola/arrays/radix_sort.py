# cupola/arrays/radix_sort.py - the launches that sort rows of numbers.
"""Sorted rows and their indices, with the kernels sort.cu and sort_rows.cu."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cupola import kernel_constants
from cupola.array import Array
from cupola.arrays.images import kernel
from cupola.arrays.key_order import key_order
from cupola.creation import empty, zeros
from cupola.device import Device
from cupola.kernel_constants import (
    SORT_COUNT_BITS,
    SORT_DIGITS,
    SORT_KEY_THREADS,
    SORT_LONG_ROW_ITEMS,
    SORT_LONG_ROW_THREADS,
    SORT_ROW_ITEMS,
    SORT_ROW_THREADS,
)

if TYPE_CHECKING:
    from cupola.declare.family import Variant
    from cupola.kernel import Kernel
    from cupola.tuning.family import Family

# The longest rows that a kernel sorts in one block.
_SHORT = SORT_ROW_THREADS * SORT_ROW_ITEMS
_LONG = SORT_LONG_ROW_THREADS * SORT_LONG_ROW_ITEMS
_ROWS = 1 << 30  # rows of one launch at most
_PART = 1 << (SORT_COUNT_BITS - 1)  # elements that one launch sorts
_WORDS = 32 << 20  # bytes of the words that a pass does not share with other passes
_NARROW = 1 << 32  # the longest rows whose indices have 32 bits between passes


class _Pass(NamedTuple):
    """A kernel of sort.cu: threads of a block, and elements of a tile."""

    kernel: Kernel
    threads: int
    tile: int


# The form of a pass, by the bytes of a key and of an index between passes.
_FORMS = {
    (1, 0): "sort_keys_8",
    (2, 0): "sort_keys_16",
    (4, 0): "sort_keys_32",
    (8, 0): "sort_keys_64",
    (1, 4): "sort_pairs_8",
    (2, 4): "sort_pairs_16",
    (4, 4): "sort_pairs_32",
    (8, 4): "sort_pairs_64",
    (8, 8): "sort_wide_pairs_64",
}
# Those in several variants, of `cupola.arrays.families`.
_TUNED = {"sort_keys_32", "sort_keys_64", "sort_pairs_32", "sort_pairs_64"}


def _pass(form: str, rows: int, n: int, device: int) -> _Pass:
    """The pass for rows of n elements."""
    if form in _TUNED:
        from cupola.arrays import families

        return families.chosen(getattr(families, form), device, (rows, n), _variant)
    threads, items = (
        getattr(kernel_constants, f"{form.upper()}_{word}") for word in ("THREADS", "ITEMS")
    )
    return _Pass(kernel("sort", form, device), threads, threads * items)


def _variant(family: Family, variant: Variant, device: int, sizes: tuple[int, ...]) -> _Pass:
    threads, items = map(int, variant)
    return _Pass(family.kernel(variant, (), device), threads, threads * items)


def sort_rows(
    x: Array, out: Array | None, indices: Array | None, descending: bool = False, *,
    waits: bool = False,
) -> None:  # fmt: skip
    """Sort each row of a contiguous array of real numbers. Equal elements stay in their order.

    Parameters
    ----------
    x : Array
    out : Array, optional
        Contiguous, of the type and size of `x`; not `x` itself.
    indices : Array, optional
        Contiguous, of int64: where each element was in its row.
    waits : bool
        Whether the call may wait for the counts of digits, to leave out passes over digits that all
        keys share. Long rows alone have such passes.
    """
    if x.size == 0:
        return
    n = x.shape[-1]
    count, order = x.size // n, key_order(x.dtype, descending)
    if n <= _LONG:
        _sort_short(x, out, indices, count, order)
    elif n <= _PART:
        _Long(x, order, count, indices is not None, waits).run(x, out, indices)
    else:
        for row in range(count):
            each = [
                None if one is None else one.reshape(count, n)[row] for one in (x, out, indices)
            ]
            _sort_alone(*each, order)


def _sort_short(
    x: Array, out: Array | None, indices: Array | None, count: int, order: bytes
) -> None:
    n = x.shape[-1]
    name, threads = "row", SORT_ROW_THREADS
    if n > _SHORT:
        name, threads = "long_row", SORT_LONG_ROW_THREADS
    launch = kernel("sort_rows", f"sort_{name}_{8 * x.itemsize}", x.device_index)
    arrays = [None if one is None else one.reshape(count, n) for one in (x, out, indices)]
    for first in range(0, count, _ROWS):
        some = [None if one is None else one[first:] for one in arrays]
        launch[min(count - first, _ROWS), threads](*some, n, order)


def _sort_alone(x: Array, out: Array | None, indices: Array | None, order: bytes) -> None:
    if indices is None or x.size <= _NARROW:
        _Long(x, order, 1, indices is not None).run(x, out, indices)
        return
    if out is not None:
        _Long(x, order, 1, False).run(x, out, None)
    keys = empty(x.size, np.uint64, device=x.device_index)
    widen = kernel("sort_gather", f"sort_widen_{8 * x.itemsize}", x.device_index)
    widen[-(-x.size // SORT_KEY_THREADS), SORT_KEY_THREADS](x, keys, x.size, order)
    _Long(keys, key_order(keys.dtype), 1, True).run(keys, None, indices)


class _Long:
    """A sort by passes over all elements: one for each byte of a key."""

    def __init__(
        self, x: Array, order: bytes, count: int, pairs: bool, waits: bool = False
    ) -> None:
        self.waits = waits
        self.count, self.n, self.order = count, x.shape[-1], order
        self.device, self.passes = x.device_index, x.itemsize
        self.index = np.dtype(np.uint32 if self.n <= _NARROW else np.uint64)
        form = _FORMS[x.itemsize, self.index.itemsize if pairs else 0]
        self.pass_ = _pass(form, count, self.n, self.device)
        tile = self.pass_.tile
        part = max(_PART // tile, 1) * tile
        self.parts = [(begin, min(begin + part, self.n)) for begin in range(0, self.n, part)]
        self.tiles = [-(-(end - begin) // tile) for begin, end in self.parts]
        self.count_digits = kernel("sort", f"sort_count_{8 * x.itemsize}", self.device)
        self.offsets = kernel("sort", "sort_offsets", self.device)

    def run(self, x: Array, out: Array | None, indices: Array | None) -> None:
        """Queue the launches."""
        count, passes, parts = self.count, self.passes, len(self.parts)
        bins_size, tickets_size = count * passes * SORT_DIGITS, passes * parts
        words_size = count * sum(self.tiles) * SORT_DIGITS // 2
        rounds = passes if words_size * 8 * passes <= _WORDS else 1
        # In words of 64 bits: the bins, the tickets, the words of the tiles.
        state = zeros(bins_size + tickets_size + rounds * words_size, np.uint64, device=self.device)
        tickets, words = state[bins_size:], state[bins_size + tickets_size :]
        carry = None
        if parts > 1:
            carry = empty(2 * count * SORT_DIGITS, np.uint64, device=self.device)
        many = Device(self.device).multiprocessor_count * 8
        chunks = max(1, min(-(-self.n // 4096), -(-many // count)))
        self.count_digits[count * chunks, SORT_KEY_THREADS](x, state, self.n, chunks, self.order)
        shifts = self._shifts(state) if self.waits else range(0, 8 * passes, 8)
        self.offsets[count * passes, SORT_DIGITS](state)
        buffers = _Buffers(x, out, indices, self.index, len(shifts))
        for number, shift in enumerate(shifts):
            if number and rounds == 1:
                words.fill(0)
            own = words[number * words_size :] if rounds > 1 else words
            self._pass(number, shift, buffers, state, tickets[number * parts :], own, carry)

    def _shifts(self, state: Array) -> list[int]:
        """The lowest bits of digits that differ among the keys of a row; at least one digit."""
        bins = state[: self.count * self.passes * SORT_DIGITS].get()
        most = bins.reshape(self.count, self.passes, SORT_DIGITS).max(axis=2)
        numbers = np.flatnonzero((most != self.n).any(axis=0))
        return [8 * int(number) for number in numbers] or [0]

    def _pass(
        self, number: int, shift: int, buffers: _Buffers, state: Array, tickets: Array,
        words: Array, carry: Array | None,
    ) -> None:  # fmt: skip
        last = number == buffers.passes - 1
        bins, stride, start = state[shift // 8 * SORT_DIGITS :], self.passes * SORT_DIGITS, 0
        for part, ((begin, end), tiles) in enumerate(zip(self.parts, self.tiles, strict=True)):
            following = None
            if carry is not None and part < len(self.parts) - 1:
                following = carry[part % 2 * self.count * SORT_DIGITS :]
            spec = struct.pack("<4q3i4x", self.n, begin, end, stride, shift, number == 0, last)
            self.pass_.kernel[self.count * tiles, self.pass_.threads](
                *buffers.of_pass(number), words[start:], tickets[part:], bins, following, spec,
                self.order,
            )  # fmt: skip
            start += self.count * tiles * SORT_DIGITS // 2
            bins, stride = following, SORT_DIGITS


class _Buffers:
    """The buffers of each pass. Passes alternate between two buffers; one may be `out`."""

    def __init__(
        self, x: Array, out: Array | None, indices: Array | None, index: np.dtype, passes: int
    ) -> None:
        self.indices, self.passes = indices, passes
        self.keys = [x, *_buffers_of_passes(x, x.dtype, passes - 1, out), out]
        self.values = [None] * (passes + 1)
        if indices is not None:
            self.values[1:-1] = _buffers_of_passes(x, index, passes - 1, None)

    def of_pass(self, number: int) -> tuple[Array | None, ...]:
        """The first arguments of the kernel."""
        keys = self.keys[number], self.keys[number + 1]
        if self.indices is None:
            return keys
        last = number == self.passes - 1
        values = self.values[number], self.values[number + 1]
        return (*keys, *values, self.indices if last else None)


def _buffers_of_passes(
    x: Array, dtype: np.dtype, count: int, out: Array | None
) -> list[Array | None]:
    """Buffers for `count` passes, before one that writes `out`."""
    first = empty(x.size, dtype, device=x.device_index) if count else None
    second = out
    if count > 1 and out is None:
        second = empty(x.size, dtype, device=x.device_index)
    return [first if left % 2 else second for left in range(count, 0, -1)]
