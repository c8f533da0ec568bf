# cupola/arrays/launching.py - launches of kernels with a thread or more for each element.
"""Grids, and words that kernels move."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cupola.arrays.images import kernel

BLOCK = 256
MAX_BLOCKS = 1 << 20
WIDTHS = (16, 8, 4, 2, 1)


def launch(image: str, name: str, device: int, n: int, *arguments: Any) -> None:
    """Queue a kernel whose threads share `n` elements, on the current stream."""
    blocks = min(max(-(-n // BLOCK), 1), MAX_BLOCKS)
    kernel(image, name, device)[blocks, BLOCK](*arguments)


def widest(numbers: Iterable[int]) -> int:
    """The bytes of the widest word that divides all of them."""
    listed = list(numbers)
    return next(width for width in WIDTHS if not any(number % width for number in listed))
