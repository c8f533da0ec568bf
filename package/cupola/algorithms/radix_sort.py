# cupola/algorithms/radix_sort.py - the launches that sort rows of numbers.
"""Sorted rows and their indices, with the kernels sort.cu and sort_rows.cu."""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

from cupola.algorithms.images import kernel
from cupola.algorithms.key_order import key_order
from cupola.array import Array
from cupola.creation import empty, zeros
from cupola.device import Device

_SHORT, _LONG = 512, 4096  # the longest rows of the kernels that sort a row in one block
_DIGITS = 256
_PART = 1 << 29  # elements that one launch sorts: tiles count in 30 bits
_WORDS = 32 << 20  # bytes of words that passes do not share


class _Form(NamedTuple):
    """Of a pass: threads of a block, and elements of a tile, as in sort.cu."""

    threads: int
    tile: int


# By the bytes of a key.
_KEYS = {1: _Form(512, 9728), 2: _Form(512, 9728), 4: _Form(384, 7296), 8: _Form(384, 5760)}
_PAIRS = {1: _Form(512, 8704), 2: _Form(512, 8704), 4: _Form(384, 7680), 8: _Form(384, 5760)}


def sort_rows(x: Array, out: Array | None, indices: Array | None, descending: bool = False) -> None:
    """Sort each row of a contiguous array of real numbers.

    Parameters
    ----------
    x : Array
    out : Array, optional
        Contiguous, of the type and size of `x`; not `x` itself.
    indices : Array, optional
        Contiguous, of int64: where each element was in its row.
    """
    if x.size == 0:
        return
    n = x.shape[-1]
    count, order = x.size // n, key_order(x.dtype, descending)
    device, bits = x.device_index, 8 * x.itemsize
    if n > _LONG:
        if n <= _PART:
            _Long(x, order, count, n, indices is not None).run(x, out, indices)
        else:
            flat = [None if one is None else one.reshape(count, n) for one in (x, out, indices)]
            for row in range(count):
                each = [None if one is None else one[row] for one in flat]
                _Long(x, order, 1, n, indices is not None).run(*each)
        return
    name, threads = ("row", 128) if n <= _SHORT else ("long_row", 256)
    launch = kernel("sort_rows", f"sort_{name}_{bits}", device)
    launch[count, threads](x, out, indices, n, order)


class _Long:
    """A sort by passes over all elements: one for each byte of a key."""

    def __init__(self, x: Array, order: bytes, count: int, n: int, pairs: bool) -> None:
        self.count, self.n, self.order = count, n, order
        self.device, self.passes = x.device_index, x.itemsize
        self.form = (_PAIRS if pairs else _KEYS)[x.itemsize]
        tile = self.form.tile
        part = _PART // tile * tile
        self.parts = [(begin, min(begin + part, n)) for begin in range(0, n, part)]
        self.tiles = [-(-(end - begin) // tile) for begin, end in self.parts]
        bits = 8 * x.itemsize
        self.count_digits = kernel("sort", f"sort_count_{bits}", self.device)
        self.offsets = kernel("sort", "sort_offsets", self.device)
        self.kernel = kernel("sort", f"sort_{'pairs' if pairs else 'keys'}_{bits}", self.device)

    def run(self, x: Array, out: Array | None, indices: Array | None) -> None:
        """Queue the launches."""
        count, passes, parts = self.count, self.passes, len(self.parts)
        bins_size, tickets_size = count * passes * _DIGITS, passes * parts
        words_size = count * sum(self.tiles) * _DIGITS // 2
        rounds = passes if words_size * 8 * passes <= _WORDS else 1
        # In words of 64 bits: the bins, the tickets, the words of the tiles.
        state = zeros(bins_size + tickets_size + rounds * words_size, np.uint64, device=self.device)
        tickets, words = state[bins_size:], state[bins_size + tickets_size :]
        carry = None
        if parts > 1:
            carry = empty(2 * count * _DIGITS, np.uint64, device=self.device)
        many = Device(self.device).multiprocessor_count * 8
        chunks = max(1, min(-(-self.n // 4096), -(-many // count)))
        self.count_digits[count * chunks, 256](x, state, self.n, chunks, self.order)
        self.offsets[count * passes, 256](state)
        buffers = _Buffers(x, out, indices, passes)
        for number in range(passes):
            if number and rounds == 1:
                words.fill(0)
            own = words[number * words_size :] if rounds > 1 else words
            self._pass(number, buffers, state, tickets[number * parts :], own, carry)

    def _pass(
        self, number: int, buffers: _Buffers, state: Array, tickets: Array, words: Array,
        carry: Array | None,
    ) -> None:  # fmt: skip
        last = number == self.passes - 1
        bins, stride, start = state[number * _DIGITS :], self.passes * _DIGITS, 0
        for part, ((begin, end), tiles) in enumerate(zip(self.parts, self.tiles, strict=True)):
            following = None
            if carry is not None and part < len(self.parts) - 1:
                following = carry[part % 2 * self.count * _DIGITS :]
            spec = struct.pack(
                "<4qI3i", self.n, begin, end, stride, tiles, 8 * number, number == 0, last
            )
            self.kernel[self.count * tiles, self.form.threads](
                *buffers.of_pass(number), words[start:], tickets[part:], bins, following, spec,
                self.order,
            )  # fmt: skip
            start += self.count * tiles * _DIGITS // 2
            bins, stride = following, _DIGITS


class _Buffers:
    """The buffers of each pass: two in turn, of which `out` may be one."""

    def __init__(self, x: Array, out: Array | None, indices: Array | None, passes: int) -> None:
        self.indices, self.passes = indices, passes
        self.keys = [x, *_in_turn(x, x.dtype, passes - 1, out), out]
        self.values = [None] * (passes + 1)
        if indices is not None:
            self.values[1:-1] = _in_turn(x, np.dtype(np.uint32), passes - 1, None)

    def of_pass(self, number: int) -> tuple[Array | None, ...]:
        """The first arguments of the kernel."""
        keys = self.keys[number], self.keys[number + 1]
        if self.indices is None:
            return keys
        last = number == self.passes - 1
        values = self.values[number], self.values[number + 1]
        return (*keys, *values, self.indices if last else None)


def _in_turn(x: Array, dtype: np.dtype, count: int, out: Array | None) -> list[Array | None]:
    """Buffers for `count` passes, before one that writes `out`."""
    first = empty(x.size, dtype, device=x.device_index) if count else None
    second = out
    if count > 1 and out is None:
        second = empty(x.size, dtype, device=x.device_index)
    return [first if left % 2 else second for left in range(count, 0, -1)]
