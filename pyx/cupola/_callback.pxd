# cupola/_callback.pxd - Python objects that the library keeps alive or calls; internal.

from cupola.handles cimport cupola_graph

# An object that the library keeps alive. The garbage collector sees the library's references as far
# as lists of Held objects show them: each graph has a list entry for each of its own.
cdef class Held:
    cdef object what

# The object that keeps `what` alive. The library has a reference to the object, which drop()
# releases.
cdef Held hold(object what)
# The object for a callable and its arguments, held in the same way.
cdef Held hold_call(object function, tuple arguments)
# The C functions that call such a Python callable, and that release it.
cdef void run_call(void* data) noexcept nogil
cdef void drop(void* data) noexcept nogil
# Adds what a graph keeps: objects, and calls.
cdef int list_held(const cupola_graph* graph, list objects, list calls) except -1
