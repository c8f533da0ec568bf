# cupola/arrays/padding.py - an array with a border.
"""`pad`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays.gather import take_from
from cupola.arrays.pad_values import STATISTICS, ramp, statistic
from cupola.arrays.positions import Positions
from cupola.arrays.rows import array_of
from cupola.creation import empty
from cupola.exceptions import ArgumentTypeError, ArgumentValueError

__all__ = ["pad"]

Indices = np.ndarray[Any, Any]


def _reflected(at: Indices, n: int) -> Indices:
    if n == 1:
        return np.zeros_like(at)
    place = at % (2 * n - 2)
    return np.where(place < n, place, 2 * n - 2 - place)


def _mirrored(at: Indices, n: int) -> Indices:
    place = at % (2 * n)
    return np.where(place < n, place, 2 * n - 1 - place)


# The index of the element that a place outside of the array repeats, by mode.
OUTSIDE: dict[str, Callable[[Indices, int], Indices]] = {
    "edge": lambda at, n: at.clip(0, n - 1),
    "reflect": _reflected,
    "symmetric": _mirrored,
    "wrap": lambda at, n: at % n,
}
_OTHERS = ("constant", "empty", "linear_ramp")
_OPTIONS = {"constant": ("constant_values", 0), "linear_ramp": ("end_values", 0)}
_EMPTY = "only the modes 'constant' and 'empty' extend it"


def pad(array: Any, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Array:
    """An array with a border, as ``numpy.pad``.

    Parameters
    ----------
    array : Array
    pad_width : int, or sequence or dict of int
        Elements before and after each axis, in one of NumPy's forms.
    mode : str
        "constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp", "maximum", "mean",
        "median", "minimum" or "empty". Functions raise an error.
    constant_values : number, or sequence of numbers
        For ``mode="constant"``; by default 0.
    end_values : number, or sequence of numbers
        For ``mode="linear_ramp"``, the outermost elements; by default 0.
    stat_length : int, or sequence of int, optional
        For statistics, how many elements at an end of an axis; by default all.
    reflect_type : {"even"}
        For ``mode="reflect"`` and ``"symmetric"``.

    Returns
    -------
    Array
        A new array, queued on the current stream.
    """
    source = array_of("pad", "array", array)
    if callable(mode):
        raise ArgumentTypeError(
            "pad: argument mode: functions are not supported; make the array with mode='empty' and "
            "write its border"
        )
    if mode not in OUTSIDE and mode not in STATISTICS and mode not in _OTHERS:
        modes = ", ".join(["constant", *OUTSIDE, "linear_ramp", *STATISTICS, "empty"])
        raise ArgumentValueError(f"pad: argument mode is one of {modes}, got {mode!r}")
    option, default = _OPTIONS.get(mode, ("stat_length", None) if mode in STATISTICS else ("", 0))
    values = kwargs.pop(option, default) if option else default
    if mode in ("reflect", "symmetric") and kwargs.pop("reflect_type", "even") != "even":
        raise ArgumentValueError("pad: argument reflect_type: only 'even' is supported")
    if kwargs:
        raise ArgumentTypeError(f"pad: mode {mode!r} takes no argument {', '.join(kwargs)}")
    widths = _widths(pad_width, source.ndim)
    shape = tuple(
        [before + n + after for (before, after), n in zip(widths, source.shape, strict=True)]
    )
    made: Array = empty(shape, source.dtype, device=source.device_index)
    inner = [slice(before, before + n) for (before, _), n in zip(widths, source.shape, strict=True)]
    made[tuple(inner)] = source
    if mode == "constant":
        _fill(made, inner, _pairs("constant_values", values, source.ndim))
    elif mode == "linear_ramp" or mode in STATISTICS:
        _compute(made, inner, mode, _pairs(option, values, source.ndim))
    elif mode != "empty":
        _extend(made, inner, OUTSIDE[mode])
    return made


def _borders(made: Array, inner: list[slice], axis: int) -> list[tuple[Any, ...]]:
    """The keys of the border before and after: whole along the axes before this one."""
    whole, length = (slice(None),) * axis, made.shape[axis]
    before, after = slice(0, inner[axis].start), slice(inner[axis].stop, length)
    return [(*whole, cut, *inner[axis + 1 :]) for cut in (before, after)]


def _fill(made: Array, inner: list[slice], values: list[tuple[Any, Any]]) -> None:
    for axis in range(made.ndim):
        for key, value in zip(_borders(made, inner, axis), values[axis], strict=True):
            border = made[key]
            if border.size:
                border[...] = np.asarray(value).astype(made.dtype)[()]


def _compute(made: Array, inner: list[slice], mode: str, values: list[tuple[Any, Any]]) -> None:
    """Borders by statistics or ramps, along one axis after the other, as NumPy's."""
    for axis in range(made.ndim):
        known = made[(*(slice(None),) * axis, *inner[axis:])]
        for at_end, key in enumerate(_borders(made, inner, axis)):
            border, value = made[key], values[axis][at_end]
            if border.shape[axis] == 0:
                continue
            if known.shape[axis] == 0:
                raise ArgumentValueError(f"pad: axis {axis} has no elements; {_EMPTY}")
            if not border.size:
                continue
            if mode == "linear_ramp":
                border[...] = ramp(known, axis, bool(at_end), border.shape[axis], value)
            else:
                border[...] = statistic(mode, known, axis, bool(at_end), value)


def _extend(made: Array, inner: list[slice], outside: Callable[[Indices, int], Indices]) -> None:
    for axis in range(made.ndim):
        known = made[(*(slice(None),) * axis, *inner[axis:])]
        n = known.shape[axis]
        for key in _borders(made, inner, axis):
            border = made[key]
            if border.shape[axis] == 0:
                continue
            if n == 0:
                raise ArgumentValueError(f"pad: axis {axis} has no elements; {_EMPTY}")
            at = np.arange(*key[axis].indices(made.shape[axis])) - inner[axis].start
            positions = Positions("pad", [outside(at, n)], [axis], [n], made.device_index)
            border[...] = take_from(known, axis, positions)


def _widths(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    if isinstance(pad_width, Mapping):
        found: list[Any] = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            found[axis] = (width, width) if isinstance(width, int) else tuple(width)
        pad_width = found
    listed = _pairs("pad_width", pad_width, ndim)
    for pair in listed:
        for width in pair:
            if not hasattr(width, "__index__"):
                raise ArgumentTypeError(f"pad: argument pad_width: expected ints, got {width!r}")
            if width < 0:
                raise ArgumentValueError(f"pad: argument pad_width is negative: {width}")
    return [(int(before), int(after)) for before, after in listed]


def _pairs(name: str, values: Any, ndim: int) -> list[tuple[Any, Any]]:
    """A pair for each axis, from NumPy's forms: a number, a pair, or a pair for each axis."""
    try:
        table = np.broadcast_to(np.asarray(values), (ndim, 2))
    except ValueError:
        raise ArgumentValueError(
            f"pad: argument {name}: expected a number, a pair, or a pair for each of {ndim} axes, "
            f"got {values!r}"
        ) from None
    return [(before, after) for before, after in table]
