# cupola/array_api/fft.py - the extension of Fourier transforms.
"""The standard's ``fft`` extension over `cupola.fft`, which says what it needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cupola import fft as _transforms
from cupola.array import Array

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]
Axes = int | Sequence[int] | None


def fft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """The transform along an axis."""
    return _transforms.fft(x, n, axis, norm)


def ifft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """The inverse of `fft`."""
    return _transforms.ifft(x, n, axis, norm)


def fftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Array:
    """The transform along several axes."""
    return _transforms.fftn(x, s, axes, norm)


def ifftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Array:
    """The inverse of `fftn`."""
    return _transforms.ifftn(x, s, axes, norm)


def rfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """The first half of the transform of real numbers."""
    return _transforms.rfft(x, n, axis, norm)


def irfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """The inverse of `rfft`."""
    return _transforms.irfft(x, n, axis, norm)


def rfftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Array:
    """The transform of real numbers along several axes."""
    return _transforms.rfftn(x, s, axes, norm)


def irfftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Array:
    """The inverse of `rfftn`."""
    return _transforms.irfftn(x, s, axes, norm)


def hfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """The transform of a signal with Hermitian symmetry, given by its first half."""
    return _transforms.hfft(x, n, axis, norm)


def ihfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
    """The inverse of `hfft`."""
    return _transforms.ihfft(x, n, axis, norm)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Array:
    """The frequencies of a transform of length `n` of samples with a distance `d`."""
    made = _transforms.fftfreq(n, d, device)
    return made if dtype is None else made.astype(dtype, copy=False)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Array:
    """The frequencies of `rfft`, none negative."""
    made = _transforms.rfftfreq(n, d, device)
    return made if dtype is None else made.astype(dtype, copy=False)


def fftshift(x: Array, /, *, axes: Axes = None) -> Array:
    """A copy with the frequency 0 in the middle of axes, by default of all."""
    return _transforms.fftshift(x, axes)


def ifftshift(x: Array, /, *, axes: Axes = None) -> Array:
    """The inverse of `fftshift`."""
    return _transforms.ifftshift(x, axes)
