# cupola/_callback.pyx - Python callables that the driver calls on threads of its own.
# cython: language_level=3
#
# Such a thread takes the GIL to run one. No thread may wait in the driver for a stream while it
# holds the GIL: see cupola_callbacks_pending. No thread may take the GIL after finalization has
# begun: Python would end that thread inside the driver. So from then on no callable is called, and
# finalization waits for those that are running.

import atexit
import os

from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from posix.unistd cimport usleep

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID
from cupola.abi cimport require

from cupola.exceptions import ArgumentTypeError

cdef extern from *:
    """
    #include <atomic>
    static std::atomic<int> cupola_inside{0};
    static std::atomic<bool> cupola_closed{false};

    static bool cupola_enter_python() {
        ++cupola_inside;
        if (!cupola_closed) return true;
        --cupola_inside;
        return false;
    }
    static void cupola_leave_python() { --cupola_inside; }
    static int cupola_inside_python() { return cupola_inside; }
    static void cupola_close_python() { cupola_closed = true; }
    static void cupola_forked_python() { cupola_inside = 0; }
    """
    bint cupola_enter_python() nogil
    void cupola_leave_python() nogil
    int cupola_inside_python() nogil
    void cupola_close_python() nogil
    void cupola_forked_python() nogil

cdef extern from "Python.h":
    PyObject* PyObject_Call(PyObject* function, PyObject* arguments, PyObject* keywords)
    void PyErr_WriteUnraisable(PyObject* where)


cdef void* hold_call(object function, tuple arguments) except NULL:
    if not callable(function):
        raise ArgumentTypeError(f"function must be callable, got {function!r}")
    cdef tuple pair = (function, arguments)
    Py_INCREF(pair)
    return <PyObject*>pair


cdef void call(tuple pair) noexcept:
    cdef PyObject* function = <PyObject*>pair[0]
    cdef PyObject* result = PyObject_Call(function, <PyObject*>pair[1], NULL)
    if result == NULL:
        PyErr_WriteUnraisable(function)
    else:
        Py_DECREF(<object>result)


cdef void run_call(void* data) noexcept nogil:
    if cupola_enter_python():
        with gil:
            call(<tuple>data)
        cupola_leave_python()


cdef void drop(void* data) noexcept nogil:
    if cupola_enter_python():  # at exit the callable is dropped
        with gil:
            Py_DECREF(<object>data)
        cupola_leave_python()


def close():
    cupola_close_python()
    with nogil:
        while cupola_inside_python() > 0:
            usleep(1000)


def forked():
    cupola_forked_python()


atexit.register(close)
os.register_at_fork(after_in_child=forked)  # the child has none of the threads inside

require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
