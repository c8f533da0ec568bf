# cupola/graph_exec.pyx - executable graphs.
# cython: language_level=3
"""Executable graphs."""

cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport uintptr_t

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, CUPOLA_WOULD_WAIT, cupola_callbacks_drop,
    cupola_callbacks_hold, cupola_dimensions, cupola_graph_exec_handle, cupola_graph_exec_launch,
    cupola_graph_exec_launch_at_once, cupola_graph_exec_release, cupola_graph_exec_set_kernel,
    cupola_graph_exec_update, cupola_graph_exec_upload, cupola_graph_instantiate,
)
from cupola._attribute_docs cimport document_attributes
from cupola._callback cimport drop, hold
from cupola._argument cimport Signature
from cupola._dimensions cimport read_dimensions
from cupola._send cimport (
    PyVectorcall_NARGS, begin_traced, call_generic, cupola_set_vectorcall, end_traced,
)
from cupola.abi cimport require
from cupola.device cimport device_text, known_device
from cupola.error cimport check
from cupola.graph cimport pack
from cupola.handles cimport cupola_stream
from cupola.kernel cimport Kernel, packer_in
from cupola.stream cimport as_stream

from cupola.exceptions import ArgumentTypeError

__all__ = ["GraphExec"]


def instantiate(Graph graph not None):
    """Make an executable graph; `Graph.instantiate` calls this."""
    cdef GraphExec exec = GraphExec.__new__(GraphExec)
    with nogil:
        check(cupola_graph_instantiate(graph.native, &exec.native))
    exec.device_index = graph.device_index
    exec.kernels = dict(graph.kernels)
    exec.take_held(graph)
    return exec


cdef object call_graph(object self, PyObject** arguments, size_t nargsf, PyObject* names):
    if PyVectorcall_NARGS(nargsf) or names != NULL:
        return call_generic(self, arguments, PyVectorcall_NARGS(nargsf), names, GraphExec.__call__)
    (<GraphExec>self).launch_on(None)


@cython.no_gc_clear
cdef class GraphExec:
    """An executable graph: ``run()`` queues all its work with one call.

    Made by `Graph.instantiate`; later changes of the graph do not affect it. It keeps alive what it
    uses, also after the graph is gone. Launches of one `GraphExec` run one after another, also on
    different streams.
    """

    def __init__(self):
        raise TypeError("use Graph.instantiate")

    def __cinit__(self):
        self.native = NULL
        self.vectorcall = <void*>call_graph

    def __dealloc__(self):
        with nogil:
            cupola_graph_exec_release(self.native)

    cdef int launch_on(self, Stream stream) except -1:
        cdef cupola_stream* native = NULL
        cdef int status
        if stream is not None:
            native = stream.native
        if self.native == NULL:
            raise TypeError("this cupola.GraphExec was never initialized")
        status = cupola_graph_exec_launch_at_once(self.native, native)
        if status != CUPOLA_WOULD_WAIT:
            return check(status)
        # A graph may call functions that take the GIL: no thread may wait with the GIL held.
        begin_traced()
        cupola_callbacks_hold()
        with nogil:
            status = cupola_graph_exec_launch(self.native, native)
        cupola_callbacks_drop()
        end_traced()
        return check(status)

    def __call__(self, stream=None):
        """Queue the graph's work.

        Parameters
        ----------
        stream : Stream or an object with ``__cuda_stream__``, optional
            By default this thread's current one. All of the work runs in its order. While it is
            being captured, the work becomes part of the captured graph.
        """
        if stream is None:
            self.launch_on(None)
        elif type(stream) is Stream and (<Stream>stream).native != NULL:
            self.launch_on(<Stream>stream)
        else:
            self.launch_on(as_stream(stream, self.device_index))

    def launch(self, stream=None):
        """Queue the graph's work, as calling it does.

        Parameters
        ----------
        stream : Stream or an object with ``__cuda_stream__``, optional
            By default this thread's current one.
        """
        self(stream)

    def upload(self, stream=None):
        """Upload the graph to the device, which makes its first launch faster.

        Parameters
        ----------
        stream : Stream or an object with ``__cuda_stream__``, optional
            By default this thread's current one.
        """
        cdef cupola_stream* native = as_stream(stream, self.device_index).native
        with nogil:
            check(cupola_graph_exec_upload(self.native, native))

    def update(self, what, *args, kernel=None, grid=None, block=None, shared=None):
        """Change later launches, in place. Earlier launches are not affected.

        Parameters
        ----------
        what : Node or Graph
            A kernel node of the original graph (or of a child graph), which gets new arguments;
            or a graph of the same nodes and edges, which replaces all of them.
        *args
            All of the kernel's arguments.
        kernel : Kernel, optional
            By default the one that the node was added with. Required for captured nodes.
        grid, block, shared : optional
            By default the node's own values.

        Raises
        ------
        ArgumentError
            Where the arguments do not fit the kernel.
        DriverError
            Where the node is not of that graph, or the graphs differ in more than the parameters
            of their nodes.
        """
        cdef Graph graph
        if self.native == NULL:
            raise TypeError("this cupola.GraphExec was never initialized")
        if isinstance(what, Graph):
            if args or kernel is not None or grid is not None or block is not None:
                raise ArgumentTypeError("an update by a graph takes no arguments")
            graph = <Graph>what
            graph.require_made()
            with nogil:
                check(cupola_graph_exec_update(self.native, graph.native))
            self.take_held(graph)
            return
        if not isinstance(what, Node):
            raise ArgumentTypeError(
                f"update() takes a Node or a Graph, got {type(what).__name__}")
        self.update_node(<Node>what, args, kernel, grid, block, shared)

    cdef update_node(self, Node node, tuple args, object given, object grid, object block,
                     object shared):
        cdef cupola_dimensions dimensions
        if node.kind != "kernel":
            raise ArgumentTypeError(
                f"update() gives new arguments to kernel nodes, and this node is of kind "
                f"{node.kind!r}: make a graph of the same nodes and edges with the new values, and "
                "call run.update(graph)")
        if given is None:
            given = self.kernels.get(<uintptr_t>node.native)
        if not isinstance(given, Kernel):
            raise ArgumentTypeError(
                "name the kernel, as in run.update(node, *args, kernel=kernel): the node was not "
                "added with one" if given is None else f"kernel= takes a Kernel, got {given!r}")
        cdef Kernel kernel = <Kernel>given
        read_dimensions(
            kernel.title, kernel.device_index, node.grid if grid is None else grid,
            node.block if block is None else block,
            node.shared if shared is None else shared, (<Signature>packer_in(kernel)).fixed,
            &dimensions)
        packed = pack(kernel, args)
        cdef char* buffer = packed
        cdef int status
        held = hold((kernel, args))
        with nogil:
            status = cupola_graph_exec_set_kernel(
                self.native, node.native, kernel.native, &dimensions, buffer, <PyObject*>held,
                drop)
        check(status)
        with cython.critical_section(self):
            replaced = self.held.get(<uintptr_t>node.native)  # released behind the section
            self.kernels[<uintptr_t>node.native] = kernel
            self.held[<uintptr_t>node.native] = [held]
        del replaced

    cdef take_held(self, Graph graph):
        """Mirror the library: the graphs share the objects of a node, and have calls of their own.
        """
        held, calls = dict(graph.held), list(graph.calls)
        with cython.critical_section(self):
            replaced = self.held, self.calls  # released behind the section
            self.held, self.calls = held, calls
        del replaced

    @property
    def handle(self):
        """The driver's handle, a ``CUgraphExec``, as an int."""
        return <uintptr_t>cupola_graph_exec_handle(self.native)

    @property
    def device(self):
        """The device of its graph."""
        return known_device(self.device_index)

    def __repr__(self):
        return f"<cupola.GraphExec {self.handle:#x} on {device_text(self.device_index)}>"


cdef int set_vectorcall() except -1:
    cdef GraphExec one = GraphExec.__new__(GraphExec)
    cupola_set_vectorcall(GraphExec, <char*>&one.vectorcall - <char*><PyObject*>one)
    return 0


set_vectorcall()
document_attributes(GraphExec, {
    "device_index": "The index of the device, an int.",
})

require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
