# cupola/core/unwritten.py - finds outputs that the default grid of a launch leaves out.
"""The elements that the first launch of a kernel has not written."""

from __future__ import annotations

import math

import numpy as np

from cupola.array import Array
from cupola.exceptions import ArgumentValueError

# In a smaller output, a kernel that leaves out the last elements looks like a kernel that computes
# a row with each block.
FEWEST = 64
FEWEST_ROWS = 3
PATTERN = 65521  # bytes; a prime, so that no row repeats another row

Bytes = np.ndarray[tuple[int], np.dtype[np.uint8]]


def is_large(shape: tuple[int, ...]) -> bool:
    """Whether the output of a launch tells a kernel whose rows are blocks of the grid."""
    return math.prod(shape) >= FEWEST and shape[0] >= FEWEST_ROWS


def new_pattern(nbytes: int) -> Bytes:
    """Random bytes for outputs of so many bytes.

    A kernel that writes the byte that is there has written nothing. So the bytes are above 127:
    results of one byte are rarely as large.
    """
    return np.random.default_rng().integers(128, 256, min(nbytes, PATTERN), np.uint8)


def mark(output: Array, pattern: Bytes) -> None:
    """Fill the output with the bytes again and again, on the current stream."""
    there = output.reshape(output.size).view(np.uint8)
    done = pattern.size
    there[:done] = pattern
    while done < output.nbytes:
        more = min(done, output.nbytes - done)
        there[done : done + more] = there[:more]
        done += more


def require_written(
    title: str, output: Array | np.ndarray, pattern: Bytes, grid: int, remedy: str
) -> None:
    """Refuse a kernel whose rows are blocks of the grid, after its launch with the default grid.

    Parameters
    ----------
    title : str
        The kernel.
    output : Array or numpy.ndarray
        An output that `mark` filled before the launch, as it is now.
    pattern : numpy.ndarray
        The bytes that `mark` wrote.
    grid : int
        The blocks of the launch.
    remedy : str
        The options that set a grid, for the error.
    """
    written = _elements_of_rows(output, pattern, grid)
    if written is not None:
        raise ArgumentValueError(
            f"{title}: the default grid has a thread for each element of the output, in {grid} "
            f"blocks; the kernel wrote {written} of {output.size} elements: its rows are blocks of "
            f"the grid; pass grid= and block=, {remedy}"
        )


def _elements_of_rows(output: Array | np.ndarray, pattern: Bytes, grid: int) -> int | None:
    """The number of elements that a kernel wrote whose rows are blocks of the grid.

    Such a kernel writes the first elements alone: one for each block, a row for each block, or the
    first row where it takes rows from the grid's second axis.

    Returns
    -------
    int or None
        None where the kernel wrote nothing, or more than that.
    """
    last = _bytes_of(output[-2:])[-2 * output.itemsize :]
    begin = output.nbytes - last.size
    if (last != pattern[np.arange(begin, output.nbytes) % pattern.size]).any():
        return None  # without a copy of all elements
    changed = (_bytes_of(output) != np.resize(pattern, output.nbytes))[::-1]
    tail = int(changed.argmax())  # number of bytes at the end that the kernel did not change
    if not changed[tail]:
        return None
    written = -(-(output.nbytes - tail) // output.itemsize)
    rows, row = output.shape[0], output.size // output.shape[0]
    most = max(grid, row if row > 1 else 0, grid * row if grid < rows else 0)
    return written if written <= most else None


def _bytes_of(output: Array | np.ndarray) -> Bytes:
    host = output.get() if isinstance(output, Array) else output
    return np.ascontiguousarray(host).reshape(-1).view(np.uint8)
