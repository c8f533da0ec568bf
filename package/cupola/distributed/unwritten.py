# cupola/distributed/unwritten.py - finds outputs that the default grid of a launch leaves out.
"""The elements of a block that a launch has not written."""

from __future__ import annotations

import math

import numpy as np

from cupola.array import Array

# In smaller blocks a kernel that leaves out the last elements is like one whose rows are blocks.
FEWEST = 64
FEWEST_ROWS = 3
PATTERN = 65521  # bytes; a prime, so that no row repeats another one


def is_large(shape: tuple[int, ...]) -> bool:
    """Whether the output of a launch tells a kernel whose rows are blocks of the grid."""
    return math.prod(shape) >= FEWEST and shape[0] >= FEWEST_ROWS


def mark(output: Array) -> np.ndarray:
    """Fill the output with random bytes, and return them."""
    pattern = np.random.default_rng().integers(0, 256, PATTERN, np.uint8)
    marks = np.resize(pattern, output.nbytes)
    output.reshape(output.size).view(np.uint8).set(marks)
    return marks


def elements_of_rows(output: Array, marks: np.ndarray, grid: int) -> int | None:
    """The number of elements that a kernel wrote whose rows are blocks of the grid.

    Such a kernel writes the first elements alone: one for each block, a row for each block, or the
    first row where it takes rows from the grid's second axis.

    Returns
    -------
    int or None
        None where the kernel wrote nothing, or more than that.
    """
    changed = (output.get().reshape(-1).view(np.uint8) != marks)[::-1]
    tail = int(changed.argmax())  # bytes at the end that are as before
    if tail < 2 * output.itemsize or not changed[tail]:
        return None
    written = -(-(output.nbytes - tail) // output.itemsize)
    rows, row = output.shape[0], output.size // output.shape[0]
    most = max(grid, row if row > 1 else 0, grid * row if grid < rows else 0)
    return written if written <= most else None
