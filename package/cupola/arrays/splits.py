# cupola/arrays/splits.py - parts of an array along an axis.
"""`split` and functions over it: views of the same memory, no work is queued."""

from __future__ import annotations

import itertools
from typing import Any

from cupola.array import Array
from cupola.arrays.rows import array_of, axis_of
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

__all__ = ["array_split", "dsplit", "hsplit", "split", "vsplit"]


def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[Array]:
    """Views of parts along an axis, of lengths that differ by at most 1.

    Like ``numpy.array_split``.

    Parameters
    ----------
    ary : Array
    indices_or_sections : int or sequence of int
        The number of parts; or where parts after the first one begin.
    axis : int

    Returns
    -------
    list of Array
    """
    return _parts("array_split", ary, indices_or_sections, axis, equal=False)


def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[Array]:
    """Views of parts along an axis, of one length where their number is given.

    Like ``numpy.split``; see `array_split` for the parameters.

    Raises
    ------
    ArgumentValueError
        Where the axis can't be divided into equal parts.
    """
    return _parts("split", ary, indices_or_sections, axis)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """`split` along the second axis; along the only one of an array with one axis."""
    array = array_of("hsplit", "ary", ary)
    return _parts(
        "hsplit", _require_axes("hsplit", array, 1), indices_or_sections, int(array.ndim > 1)
    )


def vsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """`split` along the first axis, of an array of two axes or more."""
    array = _require_axes("vsplit", array_of("vsplit", "ary", ary), 2)
    return _parts("vsplit", array, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """`split` along the third axis, of an array of three axes or more."""
    array = _require_axes("dsplit", array_of("dsplit", "ary", ary), 3)
    return _parts("dsplit", array, indices_or_sections, 2)


def _require_axes(title: str, array: Array, least: int) -> Array:
    if array.ndim < least:
        raise ArgumentValueError(
            f"{title}: argument ary has {array.ndim} axes, expected {least} or more"
        )
    return array


def _parts(title: str, ary: Any, sections: Any, axis: Any, *, equal: bool = True) -> list[Array]:
    array = array_of(title, "ary", ary)
    number = axis_of(title, axis, array.ndim)
    length = array.shape[number]
    try:
        if hasattr(sections, "__len__"):
            inner = [one.__index__() for one in sections]
            cuts = list(zip([0, *inner], [*inner, length], strict=True))
        else:
            cuts = _even(title, length, sections.__index__(), equal)
    except (AttributeError, TypeError):
        raise ArgumentTypeError(
            f"{title}: argument indices_or_sections: expected an int or a sequence of ints, got "
            f"{sections!r}"
        ) from None
    return [array[(slice(None),) * number + (slice(*cut),)] for cut in cuts]


def _even(title: str, length: int, count: int, equal: bool) -> list[tuple[int, int]]:
    if count <= 0:
        raise ArgumentValueError(f"{title}: expected at least one part, got {count}")
    if equal and length % count:
        raise ArgumentValueError(
            f"{title}: {length} elements can't be divided into {count} equal parts; use "
            "cupola.array_split"
        )
    each, longer = divmod(length, count)
    ends = [0]
    for at in range(count):
        ends.append(ends[-1] + each + (at < longer))
    return list(itertools.pairwise(ends))
