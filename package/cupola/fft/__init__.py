# cupola/fft/__init__.py - Fourier transforms of arrays, by cuFFT where its library is installed.
"""Fourier transforms of arrays on a GPU, with the names and parameters of ``numpy.fft``.

cuFFT computes them. Its library is found at the first transform: ``pip install nvidia-cufft``, or a
CUDA toolkit. Without it, and on the CPU device, a transform raises an error; shifts and frequencies
need no library.

A transform is queued on the current stream, and its work area is memory of that stream. The first
transform of a shape makes a plan, which allocates memory of the device and may wait for it. Each
device keeps its last plans. While a stream is captured, transforms raise an error: a graph could
outlive the plan and the work area that it uses.

Results are contiguous. float16 is computed in float32, integers in float64.
"""

from __future__ import annotations

from cupola.fft.frequencies import fftfreq, fftshift, ifftshift, rfftfreq
from cupola.fft.several_axes import fft2, fftn, ifft2, ifftn, irfft2, irfftn, rfft2, rfftn
from cupola.fft.transforms import fft, hfft, ifft, ihfft, irfft, rfft

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]


def __getattr__(name: str) -> object:
    """Say what to use for a name that only NumPy has."""
    from cupola.core.numpy_names import missing

    raise missing(__name__, name)


def __dir__() -> list[str]:
    return sorted(__all__)
