# cupola/recording/comparison.py - the first element that differs from the recorded one.
"""Compares the bytes after a replayed launch with the recorded ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.recording.launches import Piece


def difference(
    piece: Piece, expected: np.ndarray[Any, Any], found: np.ndarray[Any, Any],
    rtol: float, atol: float,
) -> str:  # fmt: skip
    """The first element that differs, and the number of elements that do; "" where all are equal.

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
        return ""
    dtype = np.dtype(piece.dtype or np.uint8)
    if piece.nbytes % dtype.itemsize or piece.at % dtype.itemsize:
        dtype = np.dtype(np.uint8)
    size = dtype.itemsize
    bits = (expected.reshape(-1, size) != found.reshape(-1, size)).any(axis=1)
    was, now = expected.view(dtype), found.view(dtype)
    if (rtol or atol) and dtype.kind in "fc":
        bits &= ~np.isclose(now, was, rtol=rtol, atol=atol, equal_nan=True)
    places = np.flatnonzero(bits)
    if not places.size:
        return ""
    first = int(places[0])
    name = piece.name or "memory that an address leads to"
    shown = f"recorded {was[first]!s}, replayed {now[first]!s}"
    if was[first].tobytes() != now[first].tobytes() and str(was[first]) == str(now[first]):
        shown += f" (bytes {was[first].tobytes().hex()} and {now[first].tobytes().hex()})"
    return (
        f"{name}[{first - piece.at // size}] ({dtype}): {shown}; {places.size:,} of {bits.size:,} "
        "elements differ"
    )
