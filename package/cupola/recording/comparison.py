# cupola/recording/comparison.py - the first element that differs from the recorded one.
"""Compares the bytes after a replayed launch with the recorded ones."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cupola.recording.launches import Piece


class Difference(NamedTuple):
    """The first element that differs."""

    text: str
    offset: int  # of the element, in bytes
    nbytes: int  # of the element


def index_text(piece: Piece, offset: int) -> str:
    """The element at an offset in a piece of memory, such as ``out[17] (float32)``."""
    dtype = element_of(piece)
    place = (offset - piece.at) // dtype.itemsize
    return f"{piece.name or 'memory that an address leads to'}[{place}] ({dtype})"


def element_of(piece: Piece) -> np.dtype[Any]:
    """The type of the elements of a piece of memory; bytes where it is unknown."""
    dtype = np.dtype(piece.dtype or np.uint8)
    fits = piece.nbytes % dtype.itemsize == 0 and piece.at % dtype.itemsize == 0
    return dtype if fits else np.dtype(np.uint8)


def difference(
    piece: Piece, expected: np.ndarray[Any, Any], found: np.ndarray[Any, Any],
    rtol: float, atol: float,
) -> Difference | None:  # fmt: skip
    """The first element that differs, and the number of elements that do; None without one.

    Parameters
    ----------
    piece : Piece
        The memory, for its name and the type of its elements.
    expected, found : numpy.ndarray
        The bytes, of uint8.
    rtol, atol : float
        As for `numpy.isclose`, for elements that are floats. With zeros, bits are compared.
    """
    if np.array_equal(expected, found):
        return None
    dtype = element_of(piece)
    size = dtype.itemsize
    bits = (expected.reshape(-1, size) != found.reshape(-1, size)).any(axis=1)
    was, now = expected.view(dtype), found.view(dtype)
    if (rtol or atol) and dtype.kind in "fc":
        bits &= ~np.isclose(now, was, rtol=rtol, atol=atol, equal_nan=True)
    places = np.flatnonzero(bits)
    if not places.size:
        return None
    first = int(places[0])
    shown = f"recorded {was[first]!s}, replayed {now[first]!s}"
    if was[first].tobytes() != now[first].tobytes() and str(was[first]) == str(now[first]):
        shown += f" (bytes {was[first].tobytes().hex()} and {now[first].tobytes().hex()})"
    text = (
        f"{index_text(piece, first * size)}: {shown}; {places.size:,} of {bits.size:,} elements "
        "differ"
    )
    return Difference(text, first * size, size)
