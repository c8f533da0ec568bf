# cython: language_level=3
# distutils: language = c++
# heat/_steps.pyx - many launches in a loop that needs no Python.
"""Steps of time."""

from libc.stdint cimport uint64_t

from cupola.array cimport Array
from cupola.kernel cimport Kernel
from cupola.stream cimport Stream, current_stream


cdef enum:
    BYTES = 64  # room for the arguments of a launch


cdef int pack(
    Kernel kernel, char* buffer, uint64_t next, uint64_t now, int rows, int columns, double rate
) except -1 nogil:
    """The arguments of ``advance``, each checked against the kernel's own."""
    kernel.put_pointer(buffer, 0, next)
    kernel.put_pointer(buffer, 1, now)
    kernel.put_int(buffer, 2, rows)
    kernel.put_int(buffer, 3, columns)
    kernel.put_float(buffer, 4, rate)
    return 0


def advance(
    Kernel kernel not None, Array now not None, Array spare not None, double rate, int steps
):
    """Queue ``steps`` launches, which go from one array to the other and back; returns steps."""
    cdef int rows = now.shape[0], columns = now.shape[1], step
    cdef unsigned[3] block = [32, 8, 1]
    cdef unsigned[3] grid = [(columns + 31) // 32, (rows + 7) // 8, 1]
    cdef char[2][BYTES] packed
    cdef Stream stream = current_stream(now.device_index)
    if kernel.buffer_bytes() > BYTES:
        raise ValueError(f"{kernel.name} takes {kernel.buffer_bytes()} bytes of arguments")
    pack(kernel, packed[0], spare.get_address(), now.get_address(), rows, columns, rate)
    pack(kernel, packed[1], now.get_address(), spare.get_address(), rows, columns, rate)
    # Whoever frees the arrays' memory waits for this stream, too.
    now.used_on(stream)
    spare.used_on(stream)
    with nogil:
        for step in range(steps):
            kernel.launch_packed(grid, block, packed[step % 2], stream, 0)
    return steps
