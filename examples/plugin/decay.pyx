# cython: language_level=3
# examples/plugin/decay.pyx - many small launches in a row, without Python between two of them.
"""dx/dt = -rate x by Euler's steps: each is a launch of cupola's saxpy kernel.

`cythonize -i decay.pyx` is the whole build: nothing is linked, no folder of headers is named.
"""
import cupola

from cupola.array cimport Array
from cupola.kernel cimport Kernel
from cupola.launch cimport Launch


cdef int steps_of(Launch forth, Launch back, long steps) except -1 nogil:
    """Each launch reads what the one before it wrote; two arrays take turns."""
    cdef long step
    for step in range(steps):
        if step % 2 == 0:
            forth.queue(None)
        else:
            back.queue(None)
    return 0


def decayed(Array x not None, double rate, double dt, long steps):
    """`x` after so many steps of `dt`, an array of its own; returns once all is queued."""
    cdef Kernel saxpy = cupola.shipped_kernels()["saxpy"]
    cdef Array here = x.copy(), there = cupola.empty_like(x)
    block = 256
    grid = max(1, -(-x.size // block))
    # out = a x + y, with x for y; packed and checked once. Each launch keeps its arrays alive.
    a = -rate * dt
    cdef Launch forth = saxpy.prepare(grid, block, a, here, here, there, x.size)
    cdef Launch back = saxpy.prepare(grid, block, a, there, there, here, x.size)
    with nogil:
        steps_of(forth, back, steps)
    return here if steps % 2 == 0 else there


def growing(Array x not None, rates):
    """x += rate x for each of the rates: one launch, of which an argument is replaced."""
    cdef Kernel saxpy = cupola.shipped_kernels()["saxpy"]
    cdef Launch launch = saxpy.prepare(
        max(1, -(-x.size // 256)), 256, 0.0, x, x, x, x.size)
    cdef double[:] values = rates
    cdef Py_ssize_t i
    with nogil:
        for i in range(values.shape[0]):
            launch.set_float(0, values[i])  # a refused argument raises cupola's errors here, too
            launch.queue(None)
    return x
