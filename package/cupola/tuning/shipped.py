# cupola/tuning/shipped.py - families of the shipped kernels.
"""The launches of `cupola.convolve` and `cupola.mandelbrot`.

The blocks, and the rows of a thread by the sizes of a call, are by default those of
``csrc/runtime/array/shipped_launch.cpp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cupola.core.registry import registered
from cupola.tuning.family import Family
from cupola.tuning.own_source import OwnSource, own_family
from cupola.tuning.own_source import chosen as chosen
from cupola.tuning.own_source import launch_of as launch_of

if TYPE_CHECKING:
    from cupola.kernel import Kernel

_FILL = 1 << 18  # threads that fill the largest devices
_FILLS = [_FILL // 4, _FILL // 2, _FILL, 2 * _FILL]
_MOST_BLOCKS = 2**31 - 1
_OF_CONVOLUTION = ("image", "filter", "out", "height", "width", "channels", "clamps")
_OF_MANDELBROT = ("lattice", "graph", "max_iters", "upper_bound_squared", "lattice_size")


def shipped_kernel(image: str, name: str, index: int) -> Kernel:
    """A kernel of the shipped image, for the device of an index."""
    found: Kernel = registered("shipped_kernels")(index)[name]
    return found


def _convolution(size: int) -> Family:
    """Strips of results, for filters of ``size`` x ``size`` weights.

    A strip has as many rows as leave FILL threads, but at least LEAST.
    """
    return own_family(
        f"convolve_{size}",
        OwnSource("kernels/convolve.cu", _OF_CONVOLUTION, shipped_kernel),
        {
            "kernel": f"convolve_{size}",
            "tunables": {"BLOCK": [64, 128, 256], "LEAST": [1, 2, 4, 8], "FILL": _FILLS},
            "default": {"BLOCK": 128, "LEAST": 4, "FILL": _FILL},
            # A strip has four columns of a single channel, or one of several channels.
            "sizes": {"across": "ceildiv(width * channels, max(1, 4 - 3 * (channels - 1)))"},
            "key": ["height", "width", "channels"],
            "grid": _blocks(
                "across * ceildiv(height, min(31, max(LEAST, across * height / FILL)))"
            ),
            "block": "BLOCK",
            "cases": f"cupola.tuning.shipped_cases:convolve_{size}",
        },
    )


def _blocks(threads: str) -> str:
    """The grid for a number of threads; the kernels compute the rest in a loop."""
    return f"min({_MOST_BLOCKS}, ceildiv({threads}, BLOCK))"


convolve_3, convolve_5, convolve_7 = (_convolution(size) for size in (3, 5, 7))

# A warp has tiles of 4 rows of 32 points. It has as many tiles below each other as leave FILL
# threads, but at most MOST.
mandelbrot = own_family(
    "mandelbrot",
    OwnSource("kernels/mandelbrot.cu", _OF_MANDELBROT, shipped_kernel),
    {
        "kernel": "mandelbrot_ker",
        "tunables": {"BLOCK": [32, 64, 128, 256], "MOST": [1, 2, 4, 8], "FILL": _FILLS},
        "default": {"BLOCK": 128, "MOST": 2, "FILL": _FILL},
        "sizes": {"across": "ceildiv(lattice_size, 32)", "down": "ceildiv(lattice_size, 4)"},
        "key": ["lattice_size", "max_iters"],
        "grid": _blocks(
            "across * ceildiv(down, min(MOST, max(1, across * down * 32 / FILL))) * 32"
        ),
        "block": "BLOCK",
        "cases": "cupola.tuning.shipped_cases:mandelbrot",
    },
)
