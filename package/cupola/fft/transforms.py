# cupola/fft/transforms.py - Fourier transforms along one axis.
"""`fft`, `ifft`, `rfft`, `irfft`, `hfft` and `ihfft`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays.arguments import integer_of
from cupola.arrays.element_types import NUMBERS, require_elements
from cupola.arrays.outputs import check_out, stored
from cupola.arrays.rows import array_of, axis_of
from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.fft.batches import of_complex, resized, to_complex, to_real
from cupola.fft.cufft import FORWARD, INVERSE, library

_OPPOSITE = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def fft(a: Any, n: Any = None, axis: Any = -1, norm: str | None = None, out: Any = None) -> Array:
    """The discrete Fourier transform along an axis, as ``numpy.fft.fft``.

    Parameters
    ----------
    a : Array
        Of numbers.
    n : int, optional
        The length of the transform: so many first elements, or with zeros behind them. By default
        the length of the axis.
    axis : int
    norm : {"backward", "ortho", "forward"}, optional
        Which direction is divided: the inverse one by n (the default), each by the root of n, or
        the forward one by n.
    out : Array, optional
        Of the result's shape, and complex.

    Returns
    -------
    Array
        Of complex64 for float16, float32 and complex64, else of complex128. It is queued on the
        current stream.

    Raises
    ------
    MissingFileError
        Where cuFFT is not installed.
    Error
        On the CPU device.
    ArgumentTypeError, ArgumentValueError
        Where an argument does not fit, and while the stream is being captured.
    """
    return _complex("fft.fft", a, n, axis, norm, out, FORWARD)


def ifft(a: Any, n: Any = None, axis: Any = -1, norm: str | None = None, out: Any = None) -> Array:
    """The inverse of `fft`, with the same parameters, as ``numpy.fft.ifft``."""
    return _complex("fft.ifft", a, n, axis, norm, out, INVERSE)


def rfft(a: Any, n: Any = None, axis: Any = -1, norm: str | None = None, out: Any = None) -> Array:
    """The first half of the transform of real numbers, as ``numpy.fft.rfft``.

    Parameters are those of `fft`.

    Returns
    -------
    Array
        Complex, with ``n // 2 + 1`` elements along the axis.
    """
    title = "fft.rfft"
    x = real(title, a)
    number = axis_of(title, axis, x.ndim)
    length = length_of(title, x.shape[number] if n is None else n)
    made = to_complex(title, resized(x, number, length), [number])
    return finished(title, made, factor(title, norm, [length], FORWARD), out)


def irfft(a: Any, n: Any = None, axis: Any = -1, norm: str | None = None, out: Any = None) -> Array:
    """The inverse of `rfft`, as ``numpy.fft.irfft``.

    Parameters are those of `fft`. `n` is the length of the result, by default an even one, and
    ``n // 2 + 1`` elements are taken.

    Returns
    -------
    Array
        Real: float32 for float32 and complex64, float16 for float16, else float64.
    """
    return _to_real("fft.irfft", a, n, axis, norm, out, conjugate=False)


def hfft(a: Any, n: Any = None, axis: Any = -1, norm: str | None = None, out: Any = None) -> Array:
    """The transform of a signal with Hermitian symmetry, given by its first half.

    Like ``numpy.fft.hfft``. Parameters and result are those of `irfft`.
    """
    return _to_real("fft.hfft", a, n, axis, opposite("fft.hfft", norm), out, conjugate=True)


def ihfft(a: Any, n: Any = None, axis: Any = -1, norm: str | None = None, out: Any = None) -> Array:
    """The inverse of `hfft`, as ``numpy.fft.ihfft``. Parameters and result are those of `rfft`."""
    found = rfft(a, n, axis, opposite("fft.ihfft", norm))
    return finished("fft.ihfft", np.conjugate(found), 1.0, out)


def _complex(
    title: str, a: Any, n: Any, axis: Any, norm: str | None, out: Any, direction: int
) -> Array:
    x = complex_of(title, a)
    number = axis_of(title, axis, x.ndim)
    length = length_of(title, x.shape[number] if n is None else n)
    made = of_complex(title, resized(x, number, length), [number], direction)
    return finished(title, made, factor(title, norm, [length], direction), out)


def _to_real(
    title: str, a: Any, n: Any, axis: Any, norm: str | None, out: Any, conjugate: bool
) -> Array:
    x = complex_of(title, a)
    number = axis_of(title, axis, x.ndim)
    length = length_of(title, 2 * (x.shape[number] - 1) if n is None else n)
    half = resized(x, number, length // 2 + 1)
    made = to_real(title, np.conjugate(half) if conjugate else half, number, length)
    times = factor(title, norm, [length], INVERSE)
    return finished(title, made, times, out, real_result(array_of(title, "a", a)))


def complex_of(title: str, a: Any) -> Array:
    """The argument as complex64 or complex128."""
    x = _checked(title, a)
    found: Array = x.astype(np.result_type(x.dtype, 1j), copy=False)
    return found


def real(title: str, a: Any) -> Array:
    """The argument as float32 or float64."""
    x = _checked(title, a)
    if x.dtype.kind == "c":
        raise ArgumentTypeError(
            f"{title}: argument a: expected real numbers, got an array of {x.dtype}; use x.real, "
            f"or {title.replace('.r', '.', 1)}"
        )
    kind = np.float32 if x.dtype in (np.float16, np.float32) else np.float64
    found: Array = x.astype(kind, copy=False)
    return found


def real_result(x: Array) -> np.dtype[Any]:
    """The type of real results for an argument."""
    if x.dtype.kind in "fc":
        return np.dtype(x.dtype.char.lower())
    return np.dtype(np.float64)


def _checked(title: str, a: Any) -> Array:
    x = array_of(title, "a", a)
    require_elements(title, "a", x, NUMBERS)
    library(title, x.device_index)  # raises its errors before anything is queued
    return x


def length_of(title: str, n: Any) -> int:
    """The length of a transform."""
    length = integer_of(title, "n", n)
    if length < 1:
        raise ArgumentValueError(f"{title}: expected at least 1 element to transform, got {length}")
    return length


def opposite(title: str, norm: str | None) -> str:
    """The norm that gives the same factor in the other direction."""
    try:
        return _OPPOSITE[norm]
    except (KeyError, TypeError):
        raise ArgumentValueError(
            f"{title}: argument norm: expected 'backward', 'ortho' or 'forward', got {norm!r}"
        ) from None


def factor(title: str, norm: str | None, lengths: Sequence[int], direction: int) -> float:
    """The factor of a transform along axes of these lengths."""
    swapped = opposite(title, norm)
    of_inverse = swapped if direction == FORWARD else _OPPOSITE[swapped]
    n = math.prod(map(float, lengths))
    return {"backward": 1 / n, "ortho": n**-0.5, "forward": 1.0}[of_inverse]


def finished(
    title: str, made: Array, times: float, out: Any, dtype: np.dtype[Any] | None = None
) -> Array:
    """The result multiplied by its factor and converted to a type; with `out`, a copy in `out`."""
    kind = dtype or made.dtype
    target = check_out(title, out, made, made.shape, kind)
    if times != 1 and made.size:
        made *= times
    return stored(target, made.astype(kind, copy=False))
