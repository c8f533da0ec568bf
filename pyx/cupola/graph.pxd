# cupola/graph.pxd - graphs of work that is launched many times.

from cupola.handles cimport cupola_graph
from cupola.kernel cimport Kernel

cdef class Node

cdef class Graph:
    cdef cupola_graph* native  # NULL while the graph is being captured
    cdef readonly int device_index
    cdef dict kernels  # the kernel of each kernel node
    # Lists of Held: by node, 0 for none, and of the calls. They mirror the library's references.
    cdef dict held
    cdef list calls

    cdef int require_made(self) except -1
    cdef list held_for(self, void* node)
    cdef hold_for(self, void* node, object what)
    cdef Node added(self, void* native, object held)

cdef class Node:
    cdef readonly Graph graph
    cdef void* native

# The arguments of a launch, packed and checked.
cdef bytearray pack(Kernel kernel, tuple args)
