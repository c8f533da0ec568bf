"""Nodes of graphs by cudaGraphNodeParams, the one structure for all types."""

import ctypes
from ctypes import byref, c_int, c_uint64, c_void_p

from driver_abi import HostFunction

from cudart.graph_structures import (
    GraphEdgeData,
    GraphNodeParams,
    HostNodeParams,
    MemAllocNodeParams,
    MemsetParams,
    copy_box,
    kernel_node,
)
from cudart.memory_structures import Pitched
from cudart.runtime import DEVICE_TO_DEVICE

KERNEL, MEMCPY, MEMSET, HOST, GRAPH, EMPTY, WAIT, RECORD, SIGNAL, WAIT_FOR = range(10)
ALLOC, FREE, CONDITIONAL = 10, 11, 13
IF, WHILE, SWITCH = range(3)


def _graph(runtime):
    return runtime.handle("cudaGraphCreate", 0)


def _add(runtime, graph, params, *after):
    before = (c_void_p * (len(after) + 1))(*after)
    edges = () if runtime.major == 12 else (None,)
    return runtime.handle(
        "cudaGraphAddNode", graph, before, *edges, len(after), byref(params) if params else None
    )


def _params(kind, **fields):
    """GraphNodeParams with one member of the union."""
    made = GraphNodeParams(kind)
    for name, value in fields.items():
        setattr(made, name, value)
        made.kept = value
    return made


def _copy(destination, source, size):
    pointers = Pitched(source, size, size, 1), Pitched(destination, size, size, 1)
    made = GraphNodeParams(MEMCPY)
    made.memcpy.copyParams = copy_box(*pointers, (size, 1, 1), DEVICE_TO_DEVICE)
    return made


def _launch(runtime, exec_):
    runtime.cudaGraphLaunch(exec_, 0)
    runtime.cudaDeviceSynchronize()


def nodes_of_all_types(runtime):
    numbers, others = runtime.upload([0] * 4), runtime.upload([0] * 4)
    called = []
    call = HostFunction(called.append)
    event = runtime.handle("cudaEventCreate")
    graph, child = _graph(runtime), _graph(runtime)
    _add(runtime, child, _params(MEMSET, memset=MemsetParams(others + 12, 0, 9, 4, 1, 1)))
    fill = _params(MEMSET, memset=MemsetParams(numbers, 0, 4, 4, 4, 1))
    add1 = kernel_node(runtime.kernel("add1"), (1, 1, 1), (4, 1, 1), [c_uint64(numbers)])
    kernel, copy = _params(KERNEL, kernel=add1), _copy(others, numbers, 16)
    inner = GraphNodeParams(GRAPH)
    inner.graph.graph = child
    host = _params(HOST, host=HostNodeParams(ctypes.cast(call, c_void_p), 5))
    order = [fill, kernel, copy, inner, _params(RECORD, event=event)]
    order += [_params(WAIT, event=event), host, GraphNodeParams(EMPTY)]
    nodes = []
    for params in order:
        nodes.append(_add(runtime, graph, params, *nodes[-1:]))
        kind = c_int(-1)
        runtime.cudaGraphNodeGetType(nodes[-1], byref(kind))
        runtime.note("type", kind.value)
    exec_ = runtime.handle("cudaGraphInstantiate", graph, 0)
    _launch(runtime, exec_)
    runtime.note("numbers", [runtime.ints(numbers, 4), runtime.ints(others, 4), called[:]])
    fill.memset.value, host.host.userData = 20, 6
    copy.memcpy.copyParams.extent.width = 8
    small = kernel_node(runtime.kernel("add1"), (1, 1, 1), (2, 1, 1), [c_uint64(numbers)])
    kernel.kernel = small
    for node, params in zip(nodes, order, strict=True):
        runtime.note("type", params.type)
        runtime.cudaGraphExecNodeSetParams(exec_, node, byref(params))
    _launch(runtime, exec_)
    runtime.note("numbers", [runtime.ints(numbers, 4), runtime.ints(others, 4), called[:]])
    for node, params in zip(nodes, order, strict=True):
        if params.type != GRAPH:
            runtime.cudaGraphNodeSetParams(node, byref(params))
    _launch(runtime, runtime.handle("cudaGraphInstantiate", graph, 0))
    runtime.note("numbers", [runtime.ints(numbers, 4), runtime.ints(others, 4), called[:]])


def memory_nodes(runtime):
    numbers, graph = runtime.upload([0] * 4), _graph(runtime)
    allocation = _params(ALLOC, alloc=MemAllocNodeParams(1, 0, 1, 0, bytesize=16))
    first = _add(runtime, graph, allocation)
    address = allocation.alloc.dptr
    runtime.note("an address", bool(address))
    fill = _params(MEMSET, memset=MemsetParams(address, 0, 8, 4, 4, 1))
    second = _add(runtime, graph, fill, first)
    third = _add(runtime, graph, _copy(numbers, address, 16), second)
    _add(runtime, graph, _params(FREE, free=address), third)
    _launch(runtime, runtime.handle("cudaGraphInstantiate", graph, 0))
    runtime.note("numbers", runtime.ints(numbers, 4))
    runtime.cudaGraphNodeSetParams(first, byref(allocation))


def a_moved_child_graph(runtime):
    numbers, graph, child = runtime.upload([0] * 4), _graph(runtime), _graph(runtime)
    allocation = _params(ALLOC, alloc=MemAllocNodeParams(1, 0, 1, 0, bytesize=16))
    first = _add(runtime, child, allocation)
    address = allocation.alloc.dptr
    fill = _params(MEMSET, memset=MemsetParams(address, 0, 8, 4, 4, 1))
    second = _add(runtime, child, fill, first)
    third = _add(runtime, child, _copy(numbers, address, 16), second)
    _add(runtime, child, _params(FREE, free=address), third)
    inner, seen = GraphNodeParams(GRAPH), c_void_p()
    inner.graph.graph = child
    for ownership in (0, 2, 1):
        runtime.note("ownership", ownership)
        inner.graph.ownership = ownership
        node = _add(runtime, graph, inner)
    runtime.cudaGraphChildGraphNodeGetGraph(node, byref(seen))
    runtime.note("the graph", seen.value == child)
    _launch(runtime, runtime.handle("cudaGraphInstantiate", graph, 0))
    runtime.note("numbers", runtime.ints(numbers, 4))
    runtime.cudaGraphInstantiate(byref(seen), child, 0)
    runtime.cudaGraphDestroy(child)
    runtime.cudaGraphDestroy(graph)


def _conditional(handle, kind, size):
    made = GraphNodeParams(CONDITIONAL)
    made.conditional.handle = handle
    made.conditional.type = kind
    made.conditional.size = size
    return made


def _condition(runtime, graph, value, flags=1):
    made = c_uint64()
    runtime.cudaGraphConditionalHandleCreate(byref(made), graph, value, flags)
    return made.value


def conditional_nodes(runtime):
    """The default value chooses the body."""
    for kind, size in ((IF, 1), (IF, 2), (SWITCH, 3)):
        for value in range(3):
            runtime.note("type, size, value", [kind, size, value])
            numbers, graph = runtime.upload([0] * 3), _graph(runtime)
            handle = _condition(runtime, graph, value)
            params = _conditional(handle, kind, size)
            node = _add(runtime, graph, params)
            if runtime.major == 13:  # NVIDIA's version 12 does not know the type
                type_ = c_int(-1)
                runtime.cudaGraphNodeGetType(node, byref(type_))
                runtime.note("type", type_.value)
            for n in range(size):
                place = numbers + 4 * n
                fill = _params(MEMSET, memset=MemsetParams(place, 0, n + 1, 4, 1, 1))
                _add(runtime, params.conditional.graphs[n], fill)
            exec_ = runtime.handle("cudaGraphInstantiate", graph, 0)
            _launch(runtime, exec_)
            runtime.note("numbers", runtime.ints(numbers, 3))
            runtime.cudaGraphExecDestroy(exec_)
            runtime.cudaGraphDestroy(graph)


def wrong_conditions(runtime):
    graph, other = _graph(runtime), _graph(runtime)
    made = c_uint64()
    runtime.cudaGraphConditionalHandleCreate(None, graph, 0, 0)
    runtime.cudaGraphConditionalHandleCreate(byref(made), 0, 0, 0)
    runtime.cudaGraphConditionalHandleCreate(byref(made), graph, 0, 8)
    handle = _condition(runtime, graph, 1)
    for kind, size in ((IF, 0), (IF, 3), (WHILE, 0), (WHILE, 2), (SWITCH, 0), (9, 1)):
        runtime.note("type, size", [kind, size])
        _add(runtime, graph, _conditional(handle, kind, size))
    _add(runtime, graph, _conditional(0, IF, 1))
    _add(runtime, other, _conditional(handle, IF, 1))
    unused = runtime.handle("cudaGraphInstantiate", graph, 0)
    runtime.note("an executable graph", bool(unused))
    node = _add(runtime, graph, _conditional(handle, IF, 1))
    _add(runtime, graph, _conditional(handle, IF, 1))
    runtime.cudaGraphNodeSetParams(node, byref(_conditional(handle, IF, 1)))


def wrong_parameters(runtime):
    numbers, graph = runtime.upload([0] * 4), _graph(runtime)
    fill = _params(MEMSET, memset=MemsetParams(numbers, 0, 4, 4, 4, 1))
    node = _add(runtime, graph, fill)
    exec_ = runtime.handle("cudaGraphInstantiate", graph, 0)
    host = _params(HOST)
    reserved = _params(EMPTY)
    reserved.reserved0[0] = 1
    _add(runtime, graph, None)
    _add(runtime, 0, fill)
    for wrong in (_params(99), _params(-1), host, reserved, _params(KERNEL), _params(MEMCPY)):
        runtime.note("type", wrong.type)
        _add(runtime, graph, wrong)
        runtime.cudaGraphNodeSetParams(node, byref(wrong))
        runtime.cudaGraphExecNodeSetParams(exec_, node, byref(wrong))
    for which in (node, 0):
        given = None if which else byref(fill)
        runtime.cudaGraphNodeSetParams(which, given)
        runtime.cudaGraphExecNodeSetParams(exec_, which, given)
    runtime.cudaGraphExecNodeSetParams(0, node, byref(fill))
    runtime.cudaGetLastError()


def edges_with_properties(runtime):
    numbers, graph = runtime.upload([0] * 4), _graph(runtime)
    params = kernel_node(runtime.kernel("add1"), (1, 1, 1), (4, 1, 1), [c_uint64(numbers)])
    name = "cudaGraphAddNode_v2" if runtime.major == 12 else "cudaGraphAddNode"
    add1, node = _params(KERNEL, kernel=params), c_void_p()
    getattr(runtime, name)(byref(node), graph, None, None, 0, byref(add1))
    for edge in (GraphEdgeData(), GraphEdgeData(0, 0, 9)):
        before, later = byref(c_void_p(node.value)), c_void_p()
        getattr(runtime, name)(byref(later), graph, before, byref(edge), 1, byref(add1))
    _launch(runtime, runtime.handle("cudaGraphInstantiate", graph, 0))
    runtime.note("numbers", runtime.ints(numbers, 4))
