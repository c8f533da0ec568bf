# cupola/fft/frequencies.py - the frequencies of a transform, and their order.
"""`fftfreq`, `rfftfreq`, `fftshift` and `ifftshift`, which need no cuFFT."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays.arguments import integer_of
from cupola.arrays.arrangement import roll
from cupola.arrays.rows import array_of, axis_of
from cupola.creation import to_device
from cupola.exceptions import ArgumentValueError


def fftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Array:
    """The frequencies of a transform, as ``numpy.fft.fftfreq``.

    Parameters
    ----------
    n : int
        The length of the transform.
    d : float
        The time between samples.
    device : Device or int, optional
        By default the current one.

    Returns
    -------
    Array
        Of float64, in cycles per unit of `d`: 0, the positive ones, and then the negative ones.
    """
    return to_device(np.fft.fftfreq(_length("fft.fftfreq", n), d), device=device)


def rfftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Array:
    """The frequencies of `rfft`, none negative; parameters are those of `fftfreq`."""
    return to_device(np.fft.rfftfreq(_length("fft.rfftfreq", n), d), device=device)


def fftshift(x: Any, axes: Any = None) -> Array:
    """A copy with the frequency 0 in the middle, as ``numpy.fft.fftshift``.

    Parameters
    ----------
    x : Array
    axes : int or sequence of int, optional
        By default all.

    Returns
    -------
    Array
    """
    return _shifted("fft.fftshift", x, axes, 1)


def ifftshift(x: Any, axes: Any = None) -> Array:
    """The inverse of `fftshift`, with the same parameters."""
    return _shifted("fft.ifftshift", x, axes, -1)


def _length(title: str, n: Any) -> int:
    length = integer_of(title, "n", n)
    if length < 1:
        raise ArgumentValueError(f"{title}: argument n: expected at least 1, got {length}")
    return length


def _shifted(title: str, x: Any, axes: Any, sign: int) -> Array:
    array = array_of(title, "x", x)
    listed = range(array.ndim) if axes is None else axes if np.iterable(axes) else (axes,)
    numbers = tuple(axis_of(title, axis, array.ndim) for axis in listed)
    return roll(array, tuple(sign * (array.shape[axis] // 2) for axis in numbers), numbers)
