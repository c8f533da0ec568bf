# cupola/graph.pyx - graphs and their nodes.
# cython: language_level=3
"""Graphs."""

cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc

import numpy as np

from cupola._abi cimport (
    CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID, CUPOLA_CAPTURE_RELAXED, cupola_capture_begin,
    cupola_capture_end, cupola_dimensions, cupola_graph_add_call,
    cupola_graph_add_child, cupola_graph_add_copy, cupola_graph_add_edge, cupola_graph_add_empty,
    cupola_graph_add_fill, cupola_graph_add_kernel, cupola_graph_create, cupola_graph_edges,
    cupola_graph_handle, cupola_graph_hold, cupola_graph_nodes, cupola_graph_release, cupola_node,
    cupola_node_child, cupola_node_get, cupola_node_info, text,
)
from cupola._argument cimport TRANSFER, Signature
from cupola._attribute_docs cimport document_attributes
from cupola._callback cimport drop, hold, hold_call, list_held, run_call
from cupola._dimensions cimport read_dimensions
from cupola.abi cimport require
from cupola.array cimport Array, host_address
from cupola.copy cimport copy_on_device, download, fill, overlap, upload
from cupola.device cimport device_index, device_text, is_same_driver, known_device
from cupola.element cimport dtype_source, elements_of
from cupola.error cimport check
from cupola.kernel cimport Kernel, packer_in
from cupola.stream cimport Stream, current_stream

from cupola.exceptions import ArgumentTypeError, ArgumentValueError, MissingFileError
from cupola.core.registry import registered

__all__ = ["Graph"]

cdef tuple KINDS = ("kernel", "copy", "fill", "host", "graph", "empty", "wait", "record")


cdef Node new_node(Graph graph, void* native):
    cdef Node node = Node.__new__(Node)
    node.graph = graph
    node.native = native
    return node


@cython.final
cdef class After:
    """The nodes of an ``after=`` argument, as an array for the driver."""

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
    cdef Signature signature = packer_in(kernel)
    packed = bytearray(signature.nbytes + 1)
    cdef char* buffer = packed
    pending = signature.pack(args, buffer, current_stream(kernel.device_index).native)
    if pending & TRANSFER:
        raise ArgumentTypeError(
            f"{kernel.title}: cupola.In, Out and InOut copy around one call and can't be part of "
            "a graph; use cupola.to_device(array), and Graph.add_copy")
    return packed


@cython.no_gc_clear
cdef class Graph:
    """Work that is described once and launched many times, at little cost.

    Made by ``with stream.capture() as graph:``, or node by node. Each ``add_...`` returns the added
    node; ``after=`` names the nodes that it runs after. The graph keeps alive what its nodes use:
    kernels, cupola's memory, and the arguments of nodes.

    Only one thread at a time may change a graph.

    Parameters
    ----------
    device : Device or int, optional
        By default the current one.
    """

    def __cinit__(self):
        self.native = NULL
        self.kernels = {}
        self.held = {}
        self.calls = []

    def __init__(self, *, device=None):
        cdef int index = device_index(device)
        if self.native != NULL:
            raise TypeError("a Graph is initialized only once")
        with nogil:
            check(cupola_graph_create(index, &self.native))
        self.device_index = index

    def __dealloc__(self):
        with nogil:
            cupola_graph_release(self.native)

    cdef int require_made(self) except -1:
        if self.native == NULL:
            raise ArgumentValueError(
                "this graph does not exist: its capture has not ended, or has failed")
        return 0

    cdef Node added(self, void* native, object held):
        """Wrap a node that the driver has added; `held` stays alive with it."""
        if held is not None:
            self.hold_for(native, held)
        return new_node(self, native)

    def add_kernel(self, Kernel kernel not None, grid, block, *args, after=None, shared=0):
        """Add a launch of a kernel.

        Parameters
        ----------
        kernel : Kernel
            Of the graph's device.
        grid, block, *args, shared
            As for `Kernel.launch`, but without `In`, `Out` and `InOut`, which copy around one call.
            The arguments are copied here.
        after : Node or sequence of Node, optional

        Returns
        -------
        Node
        """
        cdef After before = as_after(self, after)
        cdef cupola_dimensions dimensions
        cdef cupola_node node = NULL
        read_dimensions(
            kernel.title, kernel.device_index, grid, block, shared,
            (<Signature>packer_in(kernel)).fixed, &dimensions)
        packed = pack(kernel, args)
        cdef char* buffer = packed
        with nogil:
            check(cupola_graph_add_kernel(
                self.native, before.nodes, before.count, kernel.native, &dimensions, buffer,
                &node))
        self.kernels[<uintptr_t>node] = kernel
        return self.added(node, (kernel, args))

    def add_copy(self, target, source, *, after=None):
        """Add a copy of all elements of one array to another.

        Parameters
        ----------
        target, source : Array or numpy.ndarray
            Of the same dtype and number of bytes. Arrays on a device may have any strides and may
            overlap; where one is not C-contiguous or they overlap, both have the same shape. Host
            arrays are C-contiguous; page-locked memory (`cupola.empty_pinned`) is fast. Each launch
            copies the contents at that time.
        after : Node or sequence of Node, optional

        Returns
        -------
        Node
            Of kind "copy"; of kind "graph" where one copy of bytes is not enough.
        """
        cdef After before = as_after(self, after)
        cdef cupola_node node = NULL
        cdef uint64_t to = place_of(self, target, "target", True)
        cdef uint64_t origin = place_of(self, source, "source", False)
        if target.nbytes != source.nbytes:
            raise ArgumentValueError(
                f"the target has {target.nbytes} bytes, the source {source.nbytes}")
        cdef size_t nbytes = source.nbytes
        if target.dtype != source.dtype:
            raise ArgumentTypeError(
                f"the target is of {target.dtype}, the source of {source.dtype}: a node copies "
                "bytes and converts no elements; convert one of the arrays before, or pass "
                f"target.view({dtype_source(source.dtype)}) to copy the bytes as they are")
        if not is_one_range(target, source):
            if target.shape != source.shape:
                raise ArgumentValueError(
                    f"the target has shape {target.shape}, the source {source.shape}: they must be "
                    "the same where an array is not C-contiguous or the arrays overlap; use "
                    "reshape()")
            return self.added(
                add_queued(self, before, target, source, None), (target, source))
        with nogil:
            check(cupola_graph_add_copy(
                self.native, before.nodes, before.count, to, origin, nbytes, &node))
        return self.added(node, (target, source))

    def add_fill(self, Array target not None, value, *, after=None):
        """Add a fill of every element of an array.

        Parameters
        ----------
        target : Array
            With any strides.
        value : scalar
            A value that `Array.fill` takes.
        after : Node or sequence of Node, optional

        Returns
        -------
        Node
            Of kind "fill"; of kind "graph" where the array is not C-contiguous, or the value does
            not repeat within four bytes.
        """
        cdef After before = as_after(self, after)
        cdef cupola_node node = NULL
        cdef uint64_t to = place_of(self, target, "target", True)
        element = elements_of(value, target.dtype)
        if element.ndim:
            raise ArgumentValueError(f"add_fill() takes one value, got shape {element.shape}")
        raw = element.tobytes()
        cdef int width = next((w for w in (1, 2, 4) if len(raw) % w == 0 and
                               raw == raw[:w] * (len(raw) // w)), 0)
        if target.nbytes and not (width and target.contiguous):
            return self.added(add_queued(self, before, target, None, element), target)
        width = width or 1  # there are no bytes
        cdef uint32_t pattern = int.from_bytes(raw[:width], "little")
        cdef size_t elements = target.nbytes // width
        with nogil:
            check(cupola_graph_add_fill(
                self.native, before.nodes, before.count, to, pattern, width, elements, &node))
        return self.added(node, target)

    def add_host(self, function, *args, after=None):
        """Add a call of a Python function; see `Stream.launch_host_func` for what it may do.

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
        call = hold_call(function, args)
        cdef void* data = <PyObject*>call
        cdef int status
        with nogil:
            status = cupola_graph_add_call(
                self.native, before.nodes, before.count, run_call, data, drop, &node)
        if status != 0:
            try:
                check(status)
            finally:
                drop(data)
        self.calls.append(call)
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
        list_held(graph.native, self.held_for(NULL), self.calls)
        return new_node(self, node)

    def add_empty(self, *, after=None):
        """Add a node that does nothing: it joins the nodes that it runs after.

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
        """Let an existing node run after another node.

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
        """Keep objects alive as long as the graph and graphs instantiated from it.

        The graph keeps cupola's memory that nodes use without this call. It also keeps arrays of
        other libraries that captured launches, copies and fills use. Memory that is passed as a
        bare address must be kept alive by the caller, for example here.
        """
        self.require_made()
        self.hold_for(NULL, objects)

    cdef list held_for(self, void* node):
        return <list>self.held.setdefault(<uintptr_t>node, [])

    cdef hold_for(self, void* node, object what):
        held = hold(what)
        cdef int status = cupola_graph_hold(self.native, node, <PyObject*>held, drop)
        if status != 0:
            try:
                check(status)
            finally:
                drop(<PyObject*>held)
        self.held_for(node).append(held)

    @property
    def nodes(self):
        """The nodes of the graph.

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
        """The edges of the graph.

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
        """Make an executable graph from the graph as it is now.

        Returns
        -------
        GraphExec

        Raises
        ------
        DriverError
            Where its nodes depend on each other in a cycle.
        """
        self.require_made()
        return registered("instantiate")(self)

    def to_dot(self):
        """The graph as text for Graphviz: nodes with labels, and edges.

        Returns
        -------
        str
        """
        return "digraph cupola {\n  node [shape=box];\n" + self.dot_body("", "  ") + "}\n"

    def dot_body(self, prefix, indent):
        """The nodes and edges for `to_dot`, with a prefix before each name."""
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
        """Draw the graph with Graphviz's ``dot``.

        Parameters
        ----------
        path : path
            The picture's file, which is written or replaced.

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
                "drawing a graph needs Graphviz's program `dot`, which is not on PATH: install "
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
            f"<cupola.Graph of {len(nodes)} node{'s' if len(nodes) != 1 else ''} on "
            f"{device_text(self.device_index)}>")


cdef void* add_queued(
    Graph graph, After before, object target, object source, object element
) except NULL:
    """Add what a stream queues for a copy or, without a source, a fill: a child graph."""
    cdef int device = (<Array>(target if isinstance(target, Array) else source)).device_index
    cdef Stream stream = Stream(non_blocking=True, device=device)
    cdef cupola_graph* part = NULL
    cdef cupola_node node = NULL
    with nogil:
        check(cupola_capture_begin(stream.native, CUPOLA_CAPTURE_RELAXED))
    try:
        try:
            if source is None:
                fill(target, element, stream)
            elif not isinstance(target, Array):
                download(source, target, stream, True)
            elif isinstance(source, Array):
                copy_on_device(target, source, stream)
            else:
                upload(target, source, stream, True)
        finally:
            with nogil:
                check(cupola_capture_end(stream.native, &part))
        with nogil:
            check(cupola_graph_add_child(
                graph.native, before.nodes, before.count, part, &node))
        list_held(part, graph.held_for(NULL), graph.calls)
    finally:
        cupola_graph_release(part)
    return node


cdef bint is_one_range(object target, object source) except -1:
    """Whether a copy of bytes from one address to another is the whole copy."""
    if target.nbytes == 0:
        return True
    if isinstance(target, Array) and isinstance(source, Array):
        return (
            (<Array>target).contiguous and (<Array>source).contiguous
            and not overlap(target, source))
    if isinstance(target, Array):
        return (<Array>target).contiguous
    if isinstance(source, Array):
        return (<Array>source).contiguous
    if np.may_share_memory(target, source):
        raise ArgumentValueError("the target and the source are overlapping host arrays")
    return True


cdef uint64_t place_of(Graph graph, object array, str name, bint written) except? 0:
    """The address of an array's bytes."""
    if isinstance(array, Array):
        if written and (<Array>array).readonly:
            raise ArgumentValueError(f"the {name} is read-only")
        if not is_same_driver((<Array>array).device_index, graph.device_index):
            raise ArgumentValueError(
                f"the {name} is on {device_text((<Array>array).device_index)}, the graph is of "
                f"{device_text(graph.device_index)}: a graph has nodes of one driver")
        return (<Array>array).get_address()
    if not isinstance(array, np.ndarray):
        raise ArgumentTypeError(
            f"the {name} of a node is a cupola.Array or a numpy.ndarray, got "
            f"{type(array).__name__}")
    if array.dtype.hasobject:
        raise ArgumentTypeError("a device can't hold Python objects")
    if not array.flags.c_contiguous:
        raise ArgumentValueError(
            f"the {name} is a host array that is not C-contiguous, which each launch would have to "
            "make so: copy it with numpy.ascontiguousarray")
    if written and not array.flags.writeable:
        raise ArgumentValueError(f"the {name} is read-only")
    return host_address(array)


cdef cupola_node_info node_info(Node node) except *:
    cdef cupola_node_info info
    if node.graph is None:
        raise ArgumentTypeError("this cupola.graph.Node was never initialized")
    check(cupola_node_get(node.graph.native, node.native, &info))
    return info


cdef class Node:
    """A node of a graph. Two objects for the same node compare equal."""

    def __init__(self):
        raise TypeError("nodes are made by Graph.add_kernel and similar methods, or by a capture")

    @property
    def kind(self):
        """``"kernel"``, ``"copy"``, ``"fill"``, ``"host"``, ``"graph"``, ``"empty"`` or other."""
        cdef int type = node_info(self).type
        return KINDS[type] if type < len(KINDS) else f"type {type}"

    @property
    def title(self):
        """The kernel's C++ name; empty for other nodes, and where it is unknown."""
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
        """A kernel's threads per block in x, y and z."""
        cdef cupola_node_info info = node_info(self)
        return info.dimensions.block[0], info.dimensions.block[1], info.dimensions.block[2]

    @property
    def shared(self):
        """A kernel's dynamic shared memory per block, in bytes."""
        return node_info(self).dimensions.shared

    @property
    def nbytes(self):
        """Bytes that a copy or a fill writes."""
        return node_info(self).bytes

    @property
    def child(self):
        """The node's child graph, a `Graph`: to read, and to update its nodes."""
        cdef Graph graph = Graph.__new__(Graph)
        self.kind  # noqa: B018 - checks the node
        check(cupola_node_child(self.graph.native, self.native, &graph.native))
        graph.device_index = self.graph.device_index
        return graph

    @property
    def label(self):
        """A label of one or two lines."""
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


document_attributes(Graph, {
    "device_index": "The index of the device, an int.",
})
document_attributes(Node, {
    "graph": "The `Graph` that has the node.",
})

require(__file__, CUPOLA_ABI_VERSION, CUPOLA_BUILD_ID)
