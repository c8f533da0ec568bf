# cython: language_level=3
# distutils: language = c++
# heat/_steps.pyx - many launches in a loop that needs no Python.
"""Steps of time."""

from cupola.array cimport Array
from cupola.kernel cimport Kernel
from cupola.launch cimport Launch
from cupola.stream cimport Stream, current_stream


def advance(
    Kernel kernel not None, Array now not None, Array spare not None, double rate, int steps
):
    """Queue ``steps`` launches, which go from one array to the other and back; returns steps."""
    cdef int rows = now.shape[0], columns = now.shape[1], step
    block = 32, 8
    grid = (columns + 31) // 32, (rows + 7) // 8
    # Packed and checked once: names, ranges, element types, on which device the arrays are.
    cdef Launch there = kernel.prepare(grid, block, spare, now, rows, columns, rate)
    cdef Launch back = kernel.prepare(grid, block, now, spare, rows, columns, rate)
    cdef Stream stream = current_stream(now.device_index)
    with nogil:
        for step in range(steps):
            if step % 2:
                back.queue(stream)
            else:
                there.queue(stream)
    return steps
