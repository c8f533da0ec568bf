# cupola/graph.pyx - graphs, by capture and by nodes, and graphs made ready to launch.
# cython: language_level=3
"""Graphs."""

cimport cython
from libc.stdint cimport uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc

import numpy as np

from cpython.ref cimport Py_INCREF, PyObject

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, CUPOLA_CAPTURE_GLOBAL, CUPOLA_CAPTURE_RELAXED,
    CUPOLA_CAPTURE_THREAD_LOCAL, CUPOLA_WOULD_WAIT, cupola_callbacks_drop, cupola_callbacks_hold,
    cupola_capture_begin, cupola_capture_end, cupola_dimensions, cupola_graph_add_call,
    cupola_graph_add_child, cupola_graph_add_copy, cupola_graph_add_edge, cupola_graph_add_empty,
    cupola_graph_add_fill, cupola_graph_add_kernel, cupola_graph_create, cupola_graph_edges,
    cupola_graph_exec_handle, cupola_graph_exec_launch, cupola_graph_exec_launch_at_once,
    cupola_graph_exec_release, cupola_graph_exec_set_kernel, cupola_graph_exec_update,
    cupola_graph_exec_upload, cupola_graph_handle, cupola_graph_hold, cupola_graph_instantiate,
    cupola_graph_nodes, cupola_graph_release, cupola_node, cupola_node_child, cupola_node_get,
    cupola_node_info, cupola_stream_pop, cupola_stream_push, text,
)
from cupola._argument cimport TRANSFER, Signature
from cupola._callback cimport drop, hold_call, run_call
from cupola._dimensions cimport read_dimensions
from cupola._send cimport (
    PyVectorcall_NARGS, begin_traced, call_slowly, cupola_set_vectorcall, end_traced,
)
from cupola.abi cimport require
from cupola.array cimport Array, host_address
from cupola.device cimport device_index, known_device
from cupola.error cimport check
from cupola.handles cimport cupola_stream
from cupola.kernel cimport Kernel
from cupola.stream cimport as_stream, current_stream

from cupola.exceptions import ArgumentTypeError, ArgumentValueError, MissingFileError

cdef tuple KINDS = ("kernel", "copy", "fill", "host", "graph", "empty", "wait", "record")
cdef dict MODES = {
    "global": CUPOLA_CAPTURE_GLOBAL,
    "thread_local": CUPOLA_CAPTURE_THREAD_LOCAL,
    "relaxed": CUPOLA_CAPTURE_RELAXED,
}


cdef Node new_node(Graph graph, void* native):
    cdef Node node = Node.__new__(Node)
    node.graph = graph
    node.native = native
    return node


@cython.final
cdef class After:
    """What an ``after=`` argument names, as the driver wants it."""

    cdef cupola_node* nodes
    cdef size_t count

    def __cinit__(self):
        self.nodes = NULL
        self.count = 0

    def __dealloc__(self):
        free(self.nodes)


cdef After as_after(Graph graph, object after):
    cdef After result = After.__new__(After)
    graph.require_made()
    if after is None:
        return result
    if isinstance(after, Node):
        after = (after,)
    try:
        listed = tuple(after)
    except TypeError:
        listed = (after,)
    result.nodes = <cupola_node*>malloc(max(1, len(listed)) * sizeof(cupola_node))
    if result.nodes == NULL:
        raise MemoryError
    for node in listed:
        if not isinstance(node, Node):
            raise ArgumentTypeError(
                f"after= takes nodes of the graph, got {type(node).__name__}")
        if (<Node>node).graph is not graph:
            raise ArgumentValueError("after= takes nodes of this graph, got one of another")
        result.nodes[result.count] = (<Node>node).native
        result.count += 1
    return result


cdef bytearray pack(Kernel kernel, tuple args):
    """The arguments of a launch, packed and checked."""
    cdef Signature signature = <Signature>kernel.signature
    packed = bytearray(signature.nbytes + 1)
    cdef char* buffer = packed
    left = signature.pack(args, buffer, current_stream(kernel.device_index).native)
    if left & TRANSFER:
        raise ArgumentTypeError(
            f"{kernel.title}: cupola.In, Out and InOut copy around one call and can't be part of "
            "a graph; use cupola.to_device(array), and Graph.add_copy")
    return packed


@cython.no_gc_clear
cdef class Graph:
    """Work that is described once and launched many times, at little cost.

    Made by ``with stream.capture() as graph:``, or node by node. Each ``add_...`` gives the node
    that it added; ``after=`` names one or several that it has to run after. The graph holds what
    its nodes use: kernels, memory of cupola, the arguments that nodes were given.

    A graph is not to be changed by several threads at a time.

    Parameters
    ----------
    device : Device or int, optional
        By default the current one.
    """

    def __cinit__(self):
        self.native = NULL
        self.kernels = {}

    def __init__(self, *, device=None):
        cdef int index = device_index(device)
        if self.native != NULL:
            raise TypeError("a Graph is initialised once")
        with nogil:
            check(cupola_graph_create(index, &self.native))
        self.device_index = index

    def __dealloc__(self):
        with nogil:
            cupola_graph_release(self.native)

    cdef int require_made(self) except -1:
        if self.native == NULL:
            raise ArgumentValueError(
                "this graph is not there: its capture has not ended, or has failed")
        return 0

    def add_kernel(self, Kernel kernel not None, grid, block, *args, after=None, shared=0):
        """Add a launch of a kernel.

        Parameters
        ----------
        kernel : Kernel
            Of the graph's device.
        grid, block, *args, shared
            As for `Kernel.launch`; but `In`, `Out` and `InOut` copy around one call, and are
            refused. The arguments are copied here.
        after : Node or sequence of Node, optional

        Returns
        -------
        Node
        """
        cdef After before = as_after(self, after)
        cdef cupola_dimensions dimensions
        cdef cupola_node node = NULL
        read_dimensions(kernel.title, kernel.device_index, grid, block, shared, &dimensions)
        packed = pack(kernel, args)
        cdef char* buffer = packed
        with nogil:
            check(cupola_graph_add_kernel(
                self.native, before.nodes, before.count, kernel.native, &dimensions, buffer,
                &node))
        self.hold_for(node, (kernel, args))
        self.kernels[<uintptr_t>node] = kernel
        return new_node(self, node)

    def add_copy(self, target, source, *, after=None):
        """Add a copy of all bytes of one array to another.

        Parameters
        ----------
        target, source : Array or numpy.ndarray
            C-contiguous and of the same number of bytes. Of host arrays those in page-locked
            memory (`cupola.pinned_empty`) are fast; each launch copies what is there then.
        after : Node or sequence of Node, optional

        Returns
        -------
        Node
        """
        cdef After before = as_after(self, after)
        cdef cupola_node node = NULL
        cdef uint64_t to = place_of(target, "target", True)
        cdef uint64_t origin = place_of(source, "source", False)
        if target.nbytes != source.nbytes:
            raise ArgumentValueError(
                f"the target has {target.nbytes} bytes, the source {source.nbytes}")
        cdef size_t nbytes = source.nbytes
        with nogil:
            check(cupola_graph_add_copy(
                self.native, before.nodes, before.count, to, origin, nbytes, &node))
        self.hold_for(node, (target, source))
        return new_node(self, node)

    def add_fill(self, Array target not None, value, *, after=None):
        """Add setting every element of an array.

        Parameters
        ----------
        target : Array
        value : scalar
            Converted to the array's dtype. A value of more than four bytes is possible where all
            its words are the same, as zero's are.
        after : Node or sequence of Node, optional

        Returns
        -------
        Node
        """
        cdef After before = as_after(self, after)
        cdef cupola_node node = NULL
        cdef uint64_t to = place_of(target, "target", True)
        try:
            raw = np.asarray(value).astype(target.dtype, casting="same_kind").tobytes()
        except TypeError:
            raw = np.array(value, target.dtype).tobytes()
        cdef int width = next((w for w in (1, 2, 4) if len(raw) % w == 0 and
                               raw == raw[:w] * (len(raw) // w)), 0)
        if width == 0:
            raise ArgumentValueError(
                f"{value!r} as {target.dtype} does not repeat within four bytes: a fill writes "
                "elements of 1, 2 or 4 bytes; use a kernel, or add_copy from an array of it")
        cdef uint32_t pattern = int.from_bytes(raw[:width], "little")
        cdef size_t elements = target.nbytes // width
        with nogil:
            check(cupola_graph_add_fill(
                self.native, before.nodes, before.count, to, pattern, width, elements, &node))
        self.hold_for(node, target)
        return new_node(self, node)

    def add_host(self, function, *args, after=None):
        """Add a call of a Python function; see `Stream.call` for what it may do.

        Parameters
        ----------
        function : callable
        *args
            Its arguments, the same in each launch.
        after : Node or sequence of Node, optional

        Returns
        -------
        Node
        """
        cdef After before = as_after(self, after)
        cdef cupola_node node = NULL
        cdef void* data = hold_call(function, args)
        cdef int status
        with nogil:
            status = cupola_graph_add_call(
                self.native, before.nodes, before.count, run_call, data, drop, &node)
        if status != 0:
            try:
                check(status)
            finally:
                drop(data)
        return new_node(self, node)

    def add_child(self, Graph graph not None, *, after=None):
        """Add another graph, as it is now, as one node.

        Parameters
        ----------
        graph : Graph
        after : Node or sequence of Node, optional

        Returns
        -------
        Node
        """
        cdef After before = as_after(self, after)
        cdef cupola_node node = NULL
        graph.require_made()
        with nogil:
            check(cupola_graph_add_child(
                self.native, before.nodes, before.count, graph.native, &node))
        return new_node(self, node)

    def add_empty(self, *, after=None):
        """Add a node that does nothing: what runs after it runs after all that it runs after.

        Parameters
        ----------
        after : Node or sequence of Node, optional

        Returns
        -------
        Node
        """
        cdef After before = as_after(self, after)
        cdef cupola_node node = NULL
        with nogil:
            check(cupola_graph_add_empty(self.native, before.nodes, before.count, &node))
        return new_node(self, node)

    def add_edge(self, Node first not None, Node second not None):
        """Let a node run after another one that is there.

        Parameters
        ----------
        first, second : Node
            Of this graph.
        """
        self.require_made()
        if first.graph is not self or second.graph is not self:
            raise ArgumentValueError("an edge joins two nodes of this graph")
        check(cupola_graph_add_edge(self.native, first.native, second.native))

    def hold(self, *objects):
        """Keep objects alive as long as the graph and what is instantiated from it.

        Memory of cupola that nodes use is held without being named here, and so are arrays of
        other libraries that launches, copies and fills of a capture were given. What a bare
        address means is somebody else's to keep.
        """
        self.require_made()
        self.hold_for(NULL, objects)

    cdef hold_for(self, void* node, object what):
        Py_INCREF(what)
        cdef int status = cupola_graph_hold(self.native, node, <PyObject*>what, drop)
        if status != 0:
            try:
                check(status)
            finally:
                drop(<PyObject*>what)

    @property
    def nodes(self):
        """Its nodes.

        Returns
        -------
        tuple of Node
            In the order in which they were added.
        """
        self.require_made()
        cdef size_t count = 0, i
        cdef cupola_node* found
        check(cupola_graph_nodes(self.native, NULL, &count))
        found = <cupola_node*>malloc((count + 1) * sizeof(cupola_node))
        if found == NULL:
            raise MemoryError
        try:
            check(cupola_graph_nodes(self.native, found, &count))
            return tuple([new_node(self, found[i]) for i in range(count)])
        finally:
            free(found)

    @property
    def edges(self):
        """Its edges.

        Returns
        -------
        tuple of (Node, Node)
            The second runs after the first.
        """
        self.require_made()
        cdef size_t count = 0, i
        cdef cupola_node* found
        check(cupola_graph_edges(self.native, NULL, NULL, &count))
        cdef size_t room = count
        found = <cupola_node*>malloc((2 * count + 1) * sizeof(cupola_node))
        if found == NULL:
            raise MemoryError
        try:
            check(cupola_graph_edges(self.native, found, found + room, &count))
            return tuple([
                (new_node(self, found[i]), new_node(self, found[room + i])) for i in range(count)])
        finally:
            free(found)

    def instantiate(self):
        """Make the graph, as it is now, ready to launch.

        Returns
        -------
        GraphExec

        Raises
        ------
        DriverError
            Where its nodes wait for each other in a circle.
        """
        self.require_made()
        cdef GraphExec exec = GraphExec.__new__(GraphExec)
        with nogil:
            check(cupola_graph_instantiate(self.native, &exec.native))
        exec.device_index = self.device_index
        exec.kernels = dict(self.kernels)
        return exec

    def to_dot(self):
        """The graph as text for Graphviz: its nodes, what they do, and their order.

        Returns
        -------
        str
        """
        return "digraph cupola {\n  node [shape=box];\n" + self.dot_body("", "  ") + "}\n"

    def dot_body(self, prefix, indent):
        """The nodes and edges of `to_dot`, each name with the prefix."""
        names, lines = {}, []
        for number, node in enumerate(self.nodes):
            name = names[node] = f"n{prefix}{number}"
            label = node.label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            lines.append(f'{indent}{name} [label="{label}"];')
            if node.kind == "graph":
                lines.append(f"{indent}subgraph cluster_{name} {{")
                lines.append(node.child.dot_body(f"{prefix}{number}_", indent + "  ").rstrip("\n"))
                lines.append(f"{indent}}}")
        for first, second in self.edges:
            lines.append(f"{indent}{names[first]} -> {names[second]};")
        return "".join(line + "\n" for line in lines if line)

    def to_png(self, path):
        """Draw the graph by Graphviz's ``dot``.

        Parameters
        ----------
        path : path
            Of the picture, which is written or replaced.

        Raises
        ------
        NotFoundError
            Where there is no ``dot`` on the path.
        """
        import os
        import shutil
        import subprocess
        program = shutil.which("dot")
        if program is None:
            raise MissingFileError(
                "a graph is drawn by Graphviz's program `dot`, which is not on PATH: install "
                "Graphviz (apt install graphviz, dnf install graphviz, conda install graphviz, "
                "brew install graphviz), or draw Graph.to_dot()'s text elsewhere")
        done = subprocess.run(
            [program, "-Tpng", "-o", os.fspath(path)], input=self.to_dot(), text=True,
            capture_output=True)
        if done.returncode != 0:
            raise ArgumentValueError(f"{program} can't write {path}: {done.stderr.strip()}")

    @property
    def handle(self):
        """The driver's handle, a ``CUgraph``, as an int."""
        self.require_made()
        return <uintptr_t>cupola_graph_handle(self.native)

    @property
    def device(self):
        """The device it was made for."""
        return known_device(self.device_index)

    def __repr__(self):
        if self.native == NULL:
            return "<cupola.Graph, not there>"
        nodes = self.nodes
        return (
            f"<cupola.Graph of {len(nodes)} node{'s' if len(nodes) != 1 else ''} on device "
            f"{self.device_index}>")


cdef uint64_t place_of(object array, str name, bint written) except? 0:
    """Where an array's bytes begin."""
    if isinstance(array, Array):
        if written and (<Array>array).readonly:
            raise ArgumentValueError(f"the {name} is read-only")
        return (<Array>array).get_address()
    if not isinstance(array, np.ndarray):
        raise ArgumentTypeError(
            f"the {name} of a node is a cupola.Array or a numpy.ndarray, got "
            f"{type(array).__name__}")
    if array.dtype.hasobject:
        raise ArgumentTypeError("a device can't hold Python objects")
    if not array.flags.c_contiguous:
        raise ArgumentValueError(f"the {name} is not C-contiguous")
    if written and not array.flags.writeable:
        raise ArgumentValueError(f"the {name} is read-only")
    return host_address(array)


cdef cupola_node_info node_info(Node node) except *:
    cdef cupola_node_info info
    if node.graph is None:
        raise ArgumentTypeError("this cupola.graph.Node was never initialised")
    check(cupola_node_get(node.graph.native, node.native, &info))
    return info


cdef class Node:
    """A piece of a graph's work. Nodes of one graph compare equal by what they are.

    Attributes
    ----------
    graph : Graph
    """

    def __init__(self):
        raise TypeError("nodes are made by Graph.add_kernel and the like, or by a capture")

    @property
    def kind(self):
        """``"kernel"``, ``"copy"``, ``"fill"``, ``"host"``, ``"graph"``, ``"empty"``, or else."""
        cdef int type = node_info(self).type
        return KINDS[type] if type < len(KINDS) else f"type {type}"

    @property
    def title(self):
        """The kernel's name as C++ writes it; empty where it is no kernel, or not known."""
        cdef cupola_node_info info = node_info(self)
        cdef Kernel kernel = self.graph.kernels.get(<uintptr_t>self.native)
        return text(info.title) if kernel is None else kernel.title

    @property
    def grid(self):
        """A kernel's blocks in x, y and z."""
        cdef cupola_node_info info = node_info(self)
        return info.dimensions.grid[0], info.dimensions.grid[1], info.dimensions.grid[2]

    @property
    def block(self):
        """A kernel's threads a block in x, y and z."""
        cdef cupola_node_info info = node_info(self)
        return info.dimensions.block[0], info.dimensions.block[1], info.dimensions.block[2]

    @property
    def shared(self):
        """A kernel's bytes of dynamic shared memory a block."""
        return node_info(self).dimensions.shared

    @property
    def nbytes(self):
        """Bytes that a copy or a fill writes."""
        return node_info(self).bytes

    @property
    def child(self):
        """The graph inside the node, to look at and to update its nodes: a `Graph`."""
        cdef Graph graph = Graph.__new__(Graph)
        self.kind  # noqa: B018 - checks the node
        check(cupola_node_child(self.graph.native, self.native, &graph.native))
        graph.device_index = self.graph.device_index
        return graph

    @property
    def label(self):
        """What it is, in a line or two."""
        kind = self.kind
        if kind == "kernel":
            shared = f"\n{self.shared} bytes shared" if self.shared else ""
            return f"{self.title or 'kernel'}\n{self.grid} x {self.block}{shared}"
        if kind in ("copy", "fill"):
            return f"{kind}\n{self.nbytes} bytes"
        return kind

    @property
    def handle(self):
        """The driver's handle, a ``CUgraphNode``, as an int."""
        return <uintptr_t>self.native

    def __eq__(self, other):
        if not isinstance(other, Node):
            return NotImplemented
        return self.native == (<Node>other).native and self.graph is (<Node>other).graph

    def __hash__(self):
        return hash(<uintptr_t>self.native)

    def __repr__(self):
        return f"<cupola.graph.Node {' '.join(self.label.split(chr(10)))}>"


cdef object call_graph(object self, PyObject** arguments, size_t nargsf, PyObject* names):
    if PyVectorcall_NARGS(nargsf) or names != NULL:
        return call_slowly(self, arguments, PyVectorcall_NARGS(nargsf), names, GraphExec.__call__)
    (<GraphExec>self).launch_on(None)


@cython.no_gc_clear
cdef class GraphExec:
    """A graph that is ready to launch: ``run()`` queues all its work at once.

    Made by `Graph.instantiate`; later changes of the graph do not touch it. It holds what it
    uses, also when the graph is gone. Launches of one `GraphExec` run one after another,
    whichever streams they are queued on.
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
            raise TypeError("this cupola.GraphExec was never initialised")
        status = cupola_graph_exec_launch_at_once(self.native, native)
        if status != CUPOLA_WOULD_WAIT:
            return check(status)
        # It may call functions that take Python's lock: others may no longer wait with it.
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
            By default this thread's current one. All of the work is in its order. While it is
            being captured, the work becomes a part of that graph.
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
        """Send the graph to the device ahead of its first launch, which is then faster.

        Parameters
        ----------
        stream : Stream or an object with ``__cuda_stream__``, optional
            By default this thread's current one.
        """
        cdef cupola_stream* native = as_stream(stream, self.device_index).native
        with nogil:
            check(cupola_graph_exec_upload(self.native, native))

    def update(self, what, *args, kernel=None, grid=None, block=None, shared=None):
        """Change what later launches do, in place. What was launched is not touched.

        Parameters
        ----------
        what : Node or Graph
            A kernel's node of the graph that this was made of (or of a child graph in it), to
            get new arguments; or a graph of the same nodes and edges, to be done from now on.
        *args
            All of the kernel's arguments.
        kernel : Kernel, optional
            By default the one that the node was added with. Has to be named for nodes that were
            captured.
        grid, block, shared : optional
            By default what the node was made with.

        Raises
        ------
        ArgumentError
            Where the arguments are not what the kernel takes.
        DriverError
            Where the node is none of that graph, or the graphs differ in more than what their
            nodes are given.
        """
        cdef Graph graph
        if self.native == NULL:
            raise TypeError("this cupola.GraphExec was never initialised")
        if isinstance(what, Graph):
            if args or kernel is not None or grid is not None or block is not None:
                raise ArgumentTypeError("a whole graph is taken as it is, without arguments")
            graph = <Graph>what
            graph.require_made()
            with nogil:
                check(cupola_graph_exec_update(self.native, graph.native))
            return
        if not isinstance(what, Node):
            raise ArgumentTypeError(
                f"what is updated is a Node or a Graph, got {type(what).__name__}")
        self.update_node(<Node>what, args, kernel, grid, block, shared)

    cdef update_node(self, Node node, tuple args, object given, object grid, object block,
                     object shared):
        cdef cupola_node_info info = node_info(node)
        cdef cupola_dimensions dimensions
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
            info.dimensions.shared if shared is None else shared, &dimensions)
        packed = pack(kernel, args)
        cdef char* buffer = packed
        cdef int status
        held = (kernel, args)
        Py_INCREF(held)
        with nogil:
            status = cupola_graph_exec_set_kernel(
                self.native, node.native, kernel.native, &dimensions, buffer, <PyObject*>held,
                drop)
        check(status)
        self.kernels[<uintptr_t>node.native] = kernel

    @property
    def handle(self):
        """The driver's handle, a ``CUgraphExec``, as an int."""
        return <uintptr_t>cupola_graph_exec_handle(self.native)

    @property
    def device(self):
        """The device of its graph."""
        return known_device(self.device_index)

    def __repr__(self):
        return f"<cupola.GraphExec {self.handle:#x} on device {self.device_index}>"


cdef class Capture:
    """A stream's work on its way to become a graph; made by `Stream.capture`."""

    def __init__(self, Stream stream not None, mode="thread_local"):
        if mode not in MODES:
            raise ArgumentValueError(
                f"a capture's mode is 'thread_local', 'global' or 'relaxed', got {mode!r}")
        self.stream = stream
        self.mode = MODES[mode]
        self.graph = Graph.__new__(Graph)

    def __enter__(self):
        cdef cupola_stream* native = self.stream.native
        if self.state != 0:
            raise ArgumentValueError("a capture is used once: call Stream.capture again")
        with nogil:
            check(cupola_capture_begin(native, self.mode))
        self.state = 1
        check(cupola_stream_push(native))
        return self.graph

    def __exit__(self, kind, error, trace):
        cdef cupola_stream* native = self.stream.native
        cdef int status
        self.state = 2
        try:
            check(cupola_stream_pop(native))
        finally:
            with nogil:
                status = cupola_capture_end(native, &self.graph.native)
            if kind is None:  # else what was raised in the block tells more
                check(status)
            elif status == 0:
                cupola_graph_release(self.graph.native)
                self.graph.native = NULL
        self.graph.device_index = self.stream.device_index


cdef int set_vectorcall() except -1:
    cdef GraphExec one = GraphExec.__new__(GraphExec)
    cupola_set_vectorcall(GraphExec, <char*>&one.vectorcall - <char*><PyObject*>one)
    return 0


set_vectorcall()
require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
