# cupola/fft/several_axes.py - Fourier transforms along several axes.
"""`fftn`, `rfftn` and `irfftn`, their inverses, and those of two axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupola.array import Array
from cupola.arrays.arguments import integer_of
from cupola.arrays.rows import array_of, axis_of
from cupola.exceptions import ArgumentTypeError, ArgumentValueError
from cupola.fft.batches import of_complex, resized, to_complex, to_real
from cupola.fft.cufft import FORWARD, INVERSE
from cupola.fft.transforms import complex_of, factor, finished, length_of, real, real_result

_LAST = (-2, -1)


def fftn(
    a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None
) -> Array:
    """The discrete Fourier transform along several axes, as ``numpy.fft.fftn``.

    Parameters
    ----------
    a : Array
        Of numbers.
    s : sequence of int, optional
        The length of the transform along each of `axes`, as `n` of `fft`; -1 is the axis' length.
    axes : sequence of int, optional
        By default the last ``len(s)`` axes, or all. An axis that is named twice is transformed
        twice.
    norm : {"backward", "ortho", "forward"}, optional
        As for `fft`; n is the product of all lengths.
    out : Array, optional
        Of the result's shape, and complex.

    Returns
    -------
    Array
        As of `fft`. Up to three axes that are the last ones are one plan of cuFFT; other axes are
        copied before and after.
    """
    return _complex("fft.fftn", a, s, axes, norm, out, FORWARD)


def ifftn(
    a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None
) -> Array:
    """The inverse of `fftn`, with the same parameters, as ``numpy.fft.ifftn``."""
    return _complex("fft.ifftn", a, s, axes, norm, out, INVERSE)


def rfftn(
    a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None
) -> Array:
    """The transform of real numbers along several axes, as ``numpy.fft.rfftn``.

    Parameters are those of `fftn`. The result has the first half along the last one of `axes`.
    """
    return _transform_real("fft.rfftn", a, s, axes, norm, out)


def irfftn(
    a: Any, s: Any = None, axes: Any = None, norm: str | None = None, out: Any = None
) -> Array:
    """The inverse of `rfftn`, as ``numpy.fft.irfftn``.

    Parameters are those of `fftn`; along the last one of `axes` they are those of `irfft`. The
    result has the types of `irfft`; along several axes, float16 gives float32.
    """
    return _to_real("fft.irfftn", a, s, axes, norm, out)


def fft2(
    a: Any, s: Any = None, axes: Any = _LAST, norm: str | None = None, out: Any = None
) -> Array:
    """`fftn` along the last two axes, as ``numpy.fft.fft2``."""
    return _complex("fft.fft2", a, s, axes, norm, out, FORWARD)


def ifft2(
    a: Any, s: Any = None, axes: Any = _LAST, norm: str | None = None, out: Any = None
) -> Array:
    """`ifftn` along the last two axes, as ``numpy.fft.ifft2``."""
    return _complex("fft.ifft2", a, s, axes, norm, out, INVERSE)


def rfft2(
    a: Any, s: Any = None, axes: Any = _LAST, norm: str | None = None, out: Any = None
) -> Array:
    """`rfftn` along the last two axes, as ``numpy.fft.rfft2``."""
    return _transform_real("fft.rfft2", a, s, axes, norm, out)


def irfft2(
    a: Any, s: Any = None, axes: Any = _LAST, norm: str | None = None, out: Any = None
) -> Array:
    """`irfftn` along the last two axes, as ``numpy.fft.irfft2``."""
    return _to_real("fft.irfft2", a, s, axes, norm, out)


def _complex(
    title: str, a: Any, s: Any, axes: Any, norm: str | None, out: Any, direction: int
) -> Array:
    x = complex_of(title, a)
    numbers, lengths = _shape(title, x, s, axes)
    made = _transformed(title, x, numbers, lengths, direction)
    if not numbers:
        made = made.copy()
    return finished(title, made, factor(title, norm, lengths, direction), out)


def _transform_real(title: str, a: Any, s: Any, axes: Any, norm: str | None, out: Any) -> Array:
    x = real(title, a)
    numbers, lengths = _shape(title, x, s, axes, least=1)
    if len(set(numbers)) == len(numbers):
        for axis, n in zip(numbers, lengths, strict=True):
            x = resized(x, axis, n)
        made = to_complex(title, x, numbers)
    else:
        last = to_complex(title, resized(x, numbers[-1], lengths[-1]), numbers[-1:])
        made = _transformed(title, last, numbers[:-1], lengths[:-1], FORWARD)
    return finished(title, made, factor(title, norm, lengths, FORWARD), out)


def _to_real(title: str, a: Any, s: Any, axes: Any, norm: str | None, out: Any) -> Array:
    x = complex_of(title, a)
    numbers, lengths = _shape(title, x, s, axes, least=1)
    if s is None:
        lengths[-1] = length_of(title, 2 * (x.shape[numbers[-1]] - 1))
    x = _transformed(title, x, numbers[-2::-1], lengths[-2::-1], INVERSE)
    made = to_real(title, resized(x, numbers[-1], lengths[-1] // 2 + 1), numbers[-1], lengths[-1])
    times = factor(title, norm, lengths, INVERSE)
    # As in NumPy, the first transform turns float16 into a wider type.
    kind = real_result(x if len(numbers) > 1 else array_of(title, "a", a))
    return finished(title, made, times, out, kind)


def _transformed(
    title: str, x: Array, axes: list[int], lengths: list[int], direction: int
) -> Array:
    """Transforms of complex numbers, without a factor."""
    if len(set(axes)) == len(axes):
        for axis, n in zip(axes, lengths, strict=True):
            x = resized(x, axis, n)
        return of_complex(title, x, axes, direction)
    for axis, n in reversed(list(zip(axes, lengths, strict=True))):
        x = of_complex(title, resized(x, axis, n), [axis], direction)
    return x


def _shape(title: str, x: Array, s: Any, axes: Any, least: int = 0) -> tuple[list[int], list[int]]:
    """The axes, counted from the first one, and the lengths of their transforms."""
    if s is not None and not np.iterable(s):
        raise ArgumentTypeError(f"{title}: argument s: expected a sequence of ints, got {s!r}")
    sizes = None if s is None else [integer_of(title, "s", n) for n in s]
    if axes is None:
        axes = range(-(x.ndim if sizes is None else len(sizes)), 0)
    elif not np.iterable(axes):
        raise ArgumentTypeError(f"{title}: argument axes: expected a sequence, got {axes!r}")
    numbers = [axis_of(title, axis, x.ndim) for axis in axes]
    if sizes is not None and len(sizes) != len(numbers):
        raise ArgumentValueError(
            f"{title}: {len(sizes)} lengths in s and {len(numbers)} axes, expected as many"
        )
    if len(numbers) < least:
        raise ArgumentValueError(f"{title}: expected at least one axis")
    whole = [x.shape[axis] for axis in numbers]
    lengths = [n if size == -1 else size for n, size in zip(whole, sizes or whole, strict=True)]
    return numbers, [length_of(title, n) for n in lengths]
