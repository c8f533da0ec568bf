# cupola/recording/memory.py - the memory that the arguments of a launch lead to.
"""Finds whole allocations by address, and the addresses in their contents."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cupola.core.result_types import Parameter

WORD = 8  # bytes of an address
# Words that no driver uses as addresses: they are not looked up.
_LEAST, _MOST = 1 << 16, 1 << 57
_NO_ROWS = np.empty((0, 3), np.int64)


@dataclass
class Found:
    """A piece of memory on the device."""

    begin: int  # the address
    nbytes: int
    name: str
    at: int  # the offset to which the argument points
    dtype: np.dtype[Any] | None  # of the elements, where it is known
    leads_on: bool  # whether its words may be addresses
    variable: bool = False


def may_hold_addresses(dtype: np.dtype[Any] | None, spelled: str = "") -> bool:
    """Whether elements of a type may be or have addresses; of an unknown type they may."""
    if dtype is None or spelled.rstrip().endswith("*"):
        return True
    if dtype.subdtype is not None:
        return may_hold_addresses(dtype.subdtype[0])
    if dtype.names is None:
        return False
    fields = [dtype[name] for name in dtype.names]
    return any(
        one.base == np.dtype(np.uint64) or (one.base.names and may_hold_addresses(one.base))
        for one in fields
    )


class Reached:
    """The memory that a launch reaches: variables of its module, then allocations.

    Parameters
    ----------
    allocation : callable
        Gives for an address the begin and the size of the allocation around it, or None.
    variables : list of Found
    """

    def __init__(
        self, allocation: Callable[[int], tuple[int, int] | None], variables: list[Found]
    ) -> None:
        self._allocation = allocation
        self.pieces: list[Found] = []
        self._sorted: list[tuple[int, int]] = []  # the begin and the index of each piece
        for variable in variables:
            self._add(variable)

    def follow(self, packed: bytes, parameters: list[Parameter]) -> list[tuple[int, int, int]]:
        """The addresses among the arguments: offset, index of a piece, offset in the piece."""
        rows = []
        for number, parameter in enumerate(parameters):
            name = parameter.name or f"argument {number}"
            for offset in _places(parameter):
                address = int.from_bytes(packed[offset : offset + WORD], "little")
                direct = "pointer" in parameter.kind
                dtype = parameter.dtype if direct else None
                index = self._index(
                    address, name, dtype,
                    not direct or may_hold_addresses(dtype, parameter.type),
                )  # fmt: skip
                if index is not None:
                    rows.append((offset, index, address - self.pieces[index].begin))
        return rows

    def rows(self, contents: np.ndarray[Any, Any], *, grow: bool) -> np.ndarray[Any, Any]:
        """The addresses among the contents of a piece: one row for each, as `follow`.

        Parameters
        ----------
        contents : numpy.ndarray of uint8
        grow : bool
            Whether memory that no piece has is looked up and becomes a piece.
        """
        words = contents[: contents.size // WORD * WORD].view(np.uint64)
        (places,) = np.nonzero((words >= _LEAST) & (words < _MOST))
        if not places.size:
            return _NO_ROWS
        values, inverse = np.unique(words[places], return_inverse=True)
        indices = np.full(values.size, -1, np.int64)
        offsets = np.zeros(values.size, np.int64)
        for number, value in enumerate(values.tolist()):
            index = self._index(value, "", None, True) if grow else self._known(value)
            if index is not None:
                indices[number], offsets[number] = index, value - self.pieces[index].begin
        kept = indices[inverse] >= 0
        return np.stack(
            [places[kept] * WORD, indices[inverse][kept], offsets[inverse][kept]], axis=1
        ).astype(np.int64)

    def _known(self, address: int) -> int | None:
        place = bisect_right(self._sorted, (address, len(self.pieces)))
        if not place:
            return None
        begin, index = self._sorted[place - 1]
        return index if address - begin < self.pieces[index].nbytes else None

    def _add(self, piece: Found) -> int:
        self.pieces.append(piece)
        insort(self._sorted, (piece.begin, len(self.pieces) - 1))
        return len(self.pieces) - 1

    def _index(
        self, address: int, name: str, dtype: np.dtype[Any] | None, leads_on: bool
    ) -> int | None:
        if not _LEAST <= address < _MOST:
            return None
        index = self._known(address)
        if index is None:
            around = self._allocation(address)
            if around is None:
                return None
            return self._add(Found(*around, name, address - around[0], dtype, leads_on))
        piece = self.pieces[index]
        if not piece.variable and leads_on and not piece.leads_on:
            piece.leads_on = True
        return index


def _places(parameter: Parameter) -> Iterator[int]:
    """The offsets at which an argument may have an address."""
    if "pointer" in parameter.kind:
        yield parameter.offset
    elif parameter.dtype is not None and parameter.dtype.names:
        for offset in _fields(parameter.dtype):
            yield parameter.offset + offset
    elif "struct" in parameter.kind or not parameter.kind:
        yield from range(parameter.offset, parameter.offset + parameter.size - WORD + 1, WORD)


def _fields(dtype: np.dtype[Any]) -> Iterator[int]:
    """The offsets of the fields of a struct that may be addresses."""
    assert dtype.names is not None and dtype.fields is not None
    for name in dtype.names:
        inner, offset = dtype.fields[name][:2]
        count = inner.itemsize // inner.base.itemsize if inner.base.itemsize else 0
        for index in range(count):
            at = offset + index * inner.base.itemsize
            if inner.base.names:
                yield from (at + one for one in _fields(inner.base))
            elif inner.base == np.dtype(np.uint64):
                yield at
