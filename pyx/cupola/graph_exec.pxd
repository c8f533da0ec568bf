# cupola/graph_exec.pxd - executable graphs.

from cupola.graph cimport Graph, Node
from cupola.handles cimport cupola_graph_exec
from cupola.stream cimport Stream

cdef class GraphExec:
    cdef void* vectorcall
    cdef cupola_graph_exec* native
    cdef readonly int device_index
    cdef dict kernels
    # The objects that the executable graph holds, as in Graph.
    cdef dict held
    cdef list calls

    cdef take_held(self, Graph graph)
    # Queues the graph on the stream; None is the current stream.
    cdef int launch_on(self, Stream stream) except -1
    cdef update_node(
        self, Node node, tuple args, object given, object grid, object block, object shared)
