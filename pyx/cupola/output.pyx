# cupola/output.pyx - gives the text of printf in kernels to sys.stdout where that was replaced.
# cython: language_level=3
#
# The library calls the two functions in threads that hold none of its locks: the GIL is the
# outermost lock.

import atexit
import sys

from cpython.ref cimport PyObject
from libc.stdio cimport fflush, fwrite, stdout

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, cupola_output_deliver, cupola_output_set_sink,
)
from cupola.abi cimport require

cdef extern from "Python.h":
    void PyErr_Fetch(PyObject** kind, PyObject** value, PyObject** traceback)
    void PyErr_Restore(PyObject* kind, PyObject* value, PyObject* traceback)


cdef bint is_replaced():
    """Whether sys.stdout is another object than at the start, as under pytest or in a notebook."""
    target = getattr(sys, "stdout", None)
    return target is not None and target is not sys.__stdout__


cdef int wanted() noexcept with gil:
    return is_replaced()


cdef int write_text(const char* text, size_t size) except -1:
    if is_replaced():
        sys.stdout.write((<bytes>text[:size]).decode("utf-8", "replace"))
    else:
        fwrite(text, 1, size, stdout)
        fflush(stdout)
    return 0


cdef void write(const char* text, size_t size) noexcept with gil:
    cdef PyObject* kind
    cdef PyObject* value
    cdef PyObject* traceback
    PyErr_Fetch(&kind, &value, &traceback)  # keep the error of a caller that releases objects
    try:
        write_text(text, size)
    except BaseException as error:  # the launch or the wait itself has not failed
        sys.unraisablehook(Unraisable(error))
    PyErr_Restore(kind, value, traceback)


class Unraisable:
    """The argument of sys.unraisablehook."""

    def __init__(self, error):
        self.exc_type, self.exc_value = type(error), error
        self.exc_traceback = error.__traceback__
        self.err_msg = "the text of printf in a kernel could not be written to sys.stdout"
        self.object = sys.stdout


def close():
    """Writes what has arrived. Later text goes to C's stdout."""
    cupola_output_deliver()
    cupola_output_set_sink(NULL, NULL)


require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
cupola_output_set_sink(wanted, write)
atexit.register(close)
