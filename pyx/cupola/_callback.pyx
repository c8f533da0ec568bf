# cupola/_callback.pyx - Python callables that the driver calls on threads of its own.
# cython: language_level=3
#
# A thread of the driver takes the GIL to run a callable. No thread may wait in the driver for a
# stream while it holds the GIL: see cupola_callbacks_pending. No thread may take the GIL after
# finalization has begun: Python would end that thread inside the driver. So from then on no
# callable is called, and finalization waits for the callables that are running.

import atexit
import os

cimport cython
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from posix.unistd cimport usleep

from cupola._abi cimport CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID
from cupola.abi cimport require
from cupola.error cimport check

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

cdef extern from "cupola/owner.h":
    int cupola_owner_list(
        const cupola_graph* graph,
        void (*visit)(
            void* argument, void* owner, void (*release)(void*) noexcept nogil, int is_call
        ) noexcept,
        void* argument)

cdef extern from "Python.h":
    PyObject* PyObject_Call(PyObject* function, PyObject* arguments, PyObject* keywords)
    void PyErr_WriteUnraisable(PyObject* where)


@cython.final
cdef class Held:
    def __init__(self):
        raise TypeError("made by the library's calls")


cdef extern from *:
    """
    #include "cupola/owner.h"

    static traverseproc cupola_traverse_members;

    // The library has one reference to the object. If each of the library's owners has its entry in
    // a list, the lists stand for that reference: it must not keep the object alive by itself.
    static int cupola_traverse_held(PyObject* self, visitproc visit, void* argument) {
        const int status = cupola_traverse_members(self, visit, argument);
        if (status) return status;
        const long references = cupola_owner_references(self);
        return references && references == (long)Py_REFCNT(self) - 1 ? visit(self, argument) : 0;
    }
    static void cupola_show_references(PyTypeObject* type) {
        cupola_traverse_members = type->tp_traverse;
        type->tp_traverse = cupola_traverse_held;
    }
    """
    void cupola_show_references(type kind)

cupola_show_references(Held)


cdef Held hold(object what):
    cdef Held held = Held.__new__(Held)
    held.what = what
    Py_INCREF(held)
    return held


cdef Held hold_call(object function, tuple arguments):
    if not callable(function):
        raise ArgumentTypeError(f"function must be callable, got {function!r}")
    return hold((function, arguments))


cdef void list_one(
    void* lists, void* owner, void (*release)(void*) noexcept nogil, int is_call
) noexcept:
    if release == drop:
        (<list>(<tuple>lists)[is_call]).append(<Held>owner)


cdef int list_held(const cupola_graph* graph, list objects, list calls) except -1:
    lists = (objects, calls)
    return check(cupola_owner_list(graph, list_one, <PyObject*>lists))


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
            if (<Held>data).what is not None:  # None: the garbage collector cleared it
                call(<tuple>(<Held>data).what)
        cupola_leave_python()


cdef void drop(void* data) noexcept nogil:
    if cupola_enter_python():  # false at exit: the callable is dropped
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
