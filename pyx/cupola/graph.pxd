# cupola/graph.pxd - graphs: work that is described once and launched many times.

from cupola.abi cimport cupola_abi_1
from cupola.handles cimport cupola_graph, cupola_graph_exec
from cupola.stream cimport Stream

cdef class Graph:
    cdef cupola_graph* native  # NULL while it is being captured
    cdef readonly int device_index
    cdef dict kernels  # by node: what it launches

    cdef int require_made(self) except -1
    cdef hold_for(self, void* node, object what)

cdef class Node:
    cdef readonly Graph graph
    cdef void* native

cdef class GraphExec:
    cdef void* vectorcall
    cdef cupola_graph_exec* native
    cdef readonly int device_index
    cdef dict kernels

    # Queues it; None is the current stream.
    cdef int launch_on(self, Stream stream) except -1
    cdef update_node(
        self, Node node, tuple args, object given, object grid, object block, object shared)

cdef class Capture:
    cdef readonly Stream stream
    cdef readonly Graph graph
    cdef int mode
    cdef int state
