# cupola/random/sampling.py - random integers and bytes.
"""`Sampling`: the methods of `Generator` that draw integers."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from cupola.array import Array, read_now
from cupola.element import native_dtype
from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.random.parameters import finish, result, shape_of

if TYPE_CHECKING:
    from cupola.random.bit_generator import BitGenerator

_WORD = 1 << 32
_WIDE = 1 << 64


class Sampling:
    """Integers and bytes of `Generator`."""

    _bits: BitGenerator

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64,
        endpoint: bool = False, *, out: Any = None,
    ) -> Array:  # fmt: skip
        """Uniform integers in [low, high), with the same bits on all devices.

        Unbiased, by Lemire's method with rejection.

        Parameters
        ----------
        low : int
            The first one, or with `high` left out the end, and 0 is the first.
        high : int, optional
            The end, which is no result unless `endpoint` is set. Arrays as bounds are not
            supported.
        size : int or tuple of int, optional
        dtype : bool or an integer type
        endpoint : bool
            Whether `high` is a result, too.
        out : Array, optional

        Returns
        -------
        Array

        Raises
        ------
        ArgumentTypeError
            Where a bound is no int, or for another dtype.
        ArgumentValueError
            Where the interval is empty, or has numbers that the dtype does not have.
        """
        kept = native_dtype(np.dtype(dtype))
        if kept.kind not in "biu":
            raise ArgumentTypeError(
                f"integers: dtype: expected bool or an integer type, got {kept}"
            )
        if high is None:
            low, high = 0, low
        first, last = _bound("low", low), _bound("high", high) - (not endpoint)
        least, most = (0, 1) if kept.kind == "b" else (np.iinfo(kept).min, np.iinfo(kept).max)
        if first > last:
            raise ArgumentValueError(
                f"integers: expected low {'<=' if endpoint else '<'} high, got {first} and "
                f"{last + (not endpoint)}"
            )
        if first < least or last > most:
            raise ArgumentValueError(
                f"integers: {kept} holds numbers from {least} to {most}, expected results from "
                f"{first} to {last}"
            )
        made = result("integers", shape_of("integers", size, {}), kept, out, size is not None)
        self._fill_integers(made, first, last - first + 1)
        return finish(made, out)

    def bytes(self, length: int) -> bytes:
        """Random bytes on the host; waits for the device.

        Parameters
        ----------
        length : int

        Returns
        -------
        bytes
        """
        count = operator.index(length)
        if count < 0:
            raise ArgumentValueError(f"bytes: length: expected at least 0, got {count}")
        words = read_now(self._bits.random_raw(-(-count // 4)), "bytes").astype("<u4", copy=False)
        return words.tobytes()[:count]

    def _fill_integers(self, made: Array, first: int, count: int) -> None:
        """Of `count` integers from `first` on; 2**32 and 2**64 are passed as 0."""
        wide = count > _WORD
        power = _WIDE if wide else _WORD
        rest = count % power
        threshold = power % rest if rest else 0
        name = f"integers{64 if wide else 32}_{made.itemsize}"
        self._bits.fill(name, made, 2 if wide else 4, first % _WIDE, rest, threshold)


def _bound(name: str, value: Any) -> int:
    if np.ndim(value) or isinstance(value, Array):
        raise ArgumentTypeError(
            f"integers: {name}: expected an int, got an array; arrays of bounds are not supported"
        )
    try:
        return operator.index(value.item() if isinstance(value, np.generic) else value)
    except TypeError:
        pass
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or number != value:
        raise ArgumentTypeError(f"integers: {name}: expected an int, got {value!r}")
    return number
