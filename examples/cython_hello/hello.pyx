# examples/cython_hello/hello.pyx - a C launcher of a kernel, called from Cython.
# distutils: libraries = cupola
# cython: language_level=3
"""Where the header and the library are is told to the compiler by its own variables:

CPATH=$(python -m cupola paths --include) \\
LIBRARY_PATH=$(dirname $(python -m cupola paths --library)) cythonize -i hello.pyx

import cupola first: it loads libcupola.so, and this module binds to that one by its name.
"""
from libc.stdio cimport fflush, stdout


cdef extern from "cupola/cupola.h" nogil:
    int cupola_hello(unsigned blocks, unsigned threads)
    const char* cupola_last_error()
    int cupola_abi_version()


def hello(unsigned blocks, unsigned threads):
    """Launch the kernel and wait for it."""
    cdef int status
    with nogil:  # other Python threads run meanwhile
        status = cupola_hello(blocks, threads)
    if status:
        raise RuntimeError(cupola_last_error().decode())


def run_cuda():
    """One block of three threads, each of which prints a line; then a line of our own."""
    hello(1, 3)
    # A kernel's printf goes to C's standard output, which is another buffer than Python's: where it
    # is a pipe or a file, it is written only when it is full, or now.
    fflush(stdout)
    print("Load cuda function successfully!", flush=True)


def abi_version():
    """A call into the library that does nothing."""
    return cupola_abi_version()
