# cupola/tuning/comparison.py - compares an array with its reference.
"""The first difference between what a kernel computed and what was expected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

# Elements that are compared at a time: the copies in double precision stay small.
_CHUNK = 1 << 20
_INTEGERS = "biu"


@dataclass(frozen=True)
class Difference:
    """The first element that differs, and how many do."""

    argument: str
    index: tuple[int, ...]
    got: str
    expected: str
    count: int
    size: int

    def __str__(self) -> str:
        place = f"[{', '.join(map(str, self.index))}]" if self.index else ""
        elements = "element differs" if self.count == 1 else "elements differ"
        return (
            f"{self.argument}{place}: got {self.got}, expected {self.expected}; {self.count:,} of "
            f"{self.size:,} {elements}"
        )


def tolerance(*dtypes: np.dtype[Any]) -> float:
    """The default relative and absolute tolerance of values of these dtypes: 0 for integers, and
    the power 2/3 of the largest distance between 1 and its neighbour for floating-point numbers.
    """
    if any(dtype.names or dtype.kind in _INTEGERS for dtype in dtypes[:1]):
        return 0.0
    return max(_distance(dtype) for dtype in dtypes) ** (2 / 3)


def _distance(dtype: np.dtype[Any]) -> float:
    if dtype.kind in "fc":
        return float(np.finfo(dtype).eps)
    if dtype.kind in _INTEGERS:
        return 0.0
    from ml_dtypes import finfo  # the dtype is one of this package: bfloat16, float8

    return float(finfo(dtype).eps)


def difference(
    argument: str,
    got: np.ndarray[Any, Any],
    expected: np.ndarray[Any, Any],
    rtol: float | None = None,
    atol: float | None = None,
) -> Difference | None:
    """Compare two arrays of one shape; None where they are equal within the tolerances.

    Parameters
    ----------
    argument : str
        The name in the result.
    got, expected : array
    rtol, atol : float, optional
        As `numpy.isclose` takes them; by default as `tolerance` says. NaN equals NaN.
    """
    usual = tolerance(got.dtype, expected.dtype)
    limits = (usual if rtol is None else rtol, usual if atol is None else atol)
    ours, theirs = got.reshape(-1), expected.reshape(-1)
    first, count = None, 0
    for start in range(0, ours.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        wrong = np.flatnonzero(~_equal(ours[part], theirs[part], *limits))
        if wrong.size and first is None:
            first = start + int(wrong[0])
        count += wrong.size
    if first is None:
        return None
    index = tuple(map(int, np.unravel_index(first, got.shape)))
    return Difference(argument, index, str(ours[first]), str(theirs[first]), count, ours.size)


def _equal(ours: Any, theirs: Any, rtol: float, atol: float) -> Any:
    """Which elements are equal within the tolerances."""
    if ours.dtype.names or not (rtol or atol):
        # NaN differs from itself.
        both = (ours != ours) & (theirs != theirs)
        return (ours == theirs) | both
    wide = np.complex128 if "c" in (ours.dtype.kind, theirs.dtype.kind) else np.float64
    ours, theirs = ours.astype(wide), theirs.astype(wide)
    with np.errstate(invalid="ignore"):
        limit = atol + rtol * np.abs(theirs)
        near = (np.abs(ours - theirs) <= limit) & (limit < np.inf)
        # numpy.isclose takes several times as long, and knows NaN and infinities.
        if near.all():
            return near
        return np.isclose(ours, theirs, rtol=rtol, atol=atol, equal_nan=True)
