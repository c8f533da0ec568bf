# cupola/judging/comparison.py - compares an output with the reference's.
"""Which elements of an output are wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.judging.elements import is_float, limits, saturates

_Array = np.ndarray[Any, Any]
_MOST_OF_LARGEST = 1e-2  # of the largest magnitude, for types of few bits
# With these values, where the reference is not finite, any value that is not finite is right.
_SCALED = ("large", "infinite", "extreme", "nan")
_LENIENT = ("zeros", "ones", "infinite", "large", "extreme", "denormal")


def wrong_elements(
    expected: _Array, found: _Array, rtol: float, atol: float | None, kind: str
) -> _Array:  # fmt: skip
    """A mask of the elements that are wrong.

    Parameters
    ----------
    expected, found : numpy.ndarray
        Of one shape and dtype.
    rtol, atol : float
        As for `numpy.isclose`, for elements that are finite in `expected`. Where atol is None, or
        the values are unusual, a part of the largest magnitude of the output is added to it: what
        a sum of large terms of both signs needs.
    kind : str
        The kind of the inputs' values.
    """
    if expected.dtype.kind == "c":
        part = np.dtype(f"f{expected.dtype.itemsize // 2}")
        parts = [one.reshape(*one.shape, 1).view(part) for one in (expected, found)]
        either: _Array = np.any(wrong_elements(parts[0], parts[1], rtol, atol, kind), axis=-1)
        return either
    if not is_float(expected.dtype):
        mask: _Array = expected != found
        return mask
    finite = np.isfinite(expected)
    with np.errstate(all="ignore"):
        wide, seen = expected.astype(np.float64), found.astype(np.float64)
        room = (atol or 0.0) + rtol * np.abs(wide)
        if (atol is None or kind in _SCALED) and finite.any():
            room = room + min(rtol, _MOST_OF_LARGEST) * np.abs(wide[finite]).max()
        far = ~(np.abs(seen - wide) <= room)
    if kind in _LENIENT:
        special = np.isfinite(found)
    else:
        special = (np.isnan(expected) != np.isnan(found)) | (
            np.isinf(expected) & (expected != found)
        )
    if saturates(expected.dtype):
        special &= np.abs(seen) != float(limits(expected.dtype).max)
    result: _Array = np.where(finite, far, special)
    return result


def described(name: str, expected: _Array, found: _Array, mask: _Array) -> str:
    """The first wrong element, and how many there are."""
    place = tuple(int(one) for one in np.argwhere(mask)[0]) if mask.ndim else ()
    index = ", ".join(map(str, place))
    return (
        f"{name}[{index}]: expected {expected[place]}, got {found[place]}; "
        f"{int(mask.sum()):,} of {mask.size:,} elements are wrong"
    )
