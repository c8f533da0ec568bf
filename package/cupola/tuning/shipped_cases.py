# cupola/tuning/shipped_cases.py - the calls on which the families of shipped kernels are measured.
"""Cases of `cupola.tuning.shipped`, with references by NumPy that are equal to the bit."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from cupola.tuning.cases import Case

Array = np.ndarray[Any, Any]

# Sizes beside powers of 2: rows of images are seldom so long.
IMAGES = (
    (60, 80, 1), (128, 128, 1), (240, 320, 1), (480, 640, 1), (512, 512, 1), (768, 1024, 1),
    (1080, 1920, 1), (2048, 2048, 1), (2160, 3840, 1), (4096, 4096, 1), (100, 8192, 1),
    (8192, 100, 1), (240, 320, 3), (480, 640, 3), (1080, 1920, 3),
)  # fmt: skip
PICTURES = (
    (128, 256), (256, 256), (512, 64), (512, 256), (512, 1024), (1024, 64), (1024, 256),
    (1024, 1024), (2048, 64), (2048, 256), (2048, 1024), (3072, 256), (4096, 256),
)  # fmt: skip


class Cases:
    """Cases that are made one at a time, of a known number.

    Parameters
    ----------
    sizes : sequence
    make : callable
        The case of one of them.
    """

    def __init__(self, sizes: Sequence[Any], make: Callable[[Any], Case]) -> None:
        self._sizes, self._make = sizes, make

    def __len__(self) -> int:
        return len(self._sizes)

    def __iter__(self) -> Iterator[Case]:
        return map(self._make, self._sizes)


def convolution(size: int, shape: tuple[int, int, int]) -> Case:
    """A filter of ``size`` x ``size`` weights over an image of (height, width, channels)."""
    rng = np.random.default_rng(size)
    image = rng.standard_normal(shape, np.float32)
    weights = rng.standard_normal((size, size), np.float32)
    half = size // 2
    padded = np.pad(image, [(half, half), (half, half), (0, 0)])
    total = np.zeros_like(image)
    for i, j in np.ndindex(size, size):
        total += weights[i, j] * padded[i : i + shape[0], j : j + shape[1]]
    arguments = (image, weights, np.zeros_like(image), *shape, 0)
    return Case(arguments, {"out": total}, rtol=0, atol=0)


def picture(size: tuple[int, int]) -> Case:
    """A square of points around the Mandelbrot set: points along a side, iterations."""
    side, iterations = size
    lattice = np.linspace(-2, 2, side, dtype=np.float32)
    graph = np.zeros((side, side), np.float32)
    arguments = (lattice, graph, iterations, np.float32(4), side)
    return Case(arguments, {"graph": bounded(lattice, iterations)}, rtol=0, atol=0)


def bounded(lattice: Array, iterations: int) -> Array:
    """1 where the orbit of a point stays within 2, by the roundings of the kernel."""
    side = lattice.size
    inside = np.zeros(side * side, np.float32)
    places = np.arange(side * side)
    c_real, c_imag = np.tile(lattice, side), np.repeat(lattice[::-1], side)
    real, imag, real2, imag2 = np.zeros((4, places.size), np.float32)
    with np.errstate(all="ignore"):  # of orbits that left
        for step in range(iterations):
            imag = (real + real) * imag + c_imag
            real = (real2 - imag2) + c_real
            real2, imag2 = real * real, imag * imag
            # Drop the orbits that left, now and then: most leave within a few steps.
            if step < 8 or step & (step - 1) == 0 or step == iterations - 1:
                stay = real2 + imag2 <= np.float32(4)
                listed = (places, c_real, c_imag, real, imag, real2, imag2)
                places, c_real, c_imag, real, imag, real2, imag2 = (one[stay] for one in listed)
    inside[places] = 1
    return inside.reshape(side, side)


def _convolutions(size: int) -> Cases:
    # The smallest first, so that a short budget measures many keys.
    shapes = sorted(IMAGES, key=math.prod)
    return Cases(shapes, functools.partial(convolution, size))


convolve_3, convolve_5, convolve_7 = (functools.partial(_convolutions, n) for n in (3, 5, 7))
mandelbrot = functools.partial(Cases, PICTURES, picture)
