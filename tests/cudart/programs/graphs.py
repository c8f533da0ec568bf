"""Graphs, their edges, executable graphs, and the objects that graphs hold."""

import ctypes
import os
import tempfile
import threading
from ctypes import byref, c_int, c_size_t, c_uint, c_uint64, c_void_p

from driver_abi import HostFunction

from cudart.graph_structures import (
    GraphEdgeData,
    GraphExecUpdateResultInfo,
    GraphInstantiateParams,
    MemsetParams,
    kernel_node,
)
from cudart.runtime import LEGACY


def _empty(runtime, graph, *after):
    before = (c_void_p * (len(after) + 1))(*after)
    return runtime.handle("cudaGraphAddEmptyNode", graph, before, len(after))


def _diamond(runtime):
    """A graph of four nodes: the first, two that follow it, and one that follows both."""
    graph = runtime.handle("cudaGraphCreate", 0)
    first = _empty(runtime, graph)
    left, right = _empty(runtime, graph, first), _empty(runtime, graph, first)
    return graph, [first, left, right, _empty(runtime, graph, left, right)]


def _list(runtime, name, of, nodes, *between):
    """The indices of the nodes that a function lists."""
    count = c_size_t()
    getattr(runtime, name)(of, None, *between, byref(count))
    found = (c_void_p * (count.value + 1))()
    getattr(runtime, name)(of, found, *between, byref(count))
    return sorted(nodes.index(node) for node in found[: count.value])


def _edges(runtime, graph, nodes):
    data = () if runtime.major == 12 else (None,)
    count = c_size_t()
    runtime.cudaGraphGetEdges(graph, None, None, *data, byref(count))
    start, end = (c_void_p * (count.value + 1))(), (c_void_p * (count.value + 1))()
    runtime.cudaGraphGetEdges(graph, start, end, *data, byref(count))
    pairs = zip(start[: count.value], end[: count.value], strict=True)
    return sorted([nodes.index(a), nodes.index(b)] for a, b in pairs)


def _change(runtime, name, graph, start, end):
    data = () if runtime.major == 12 else (None,)
    return getattr(runtime, name)(graph, byref(c_void_p(start)), byref(c_void_p(end)), *data, 1)


def nodes_and_edges(runtime):
    graph, nodes = _diamond(runtime)
    data = () if runtime.major == 12 else (None,)
    runtime.note("nodes", _list(runtime, "cudaGraphGetNodes", graph, nodes))
    runtime.note("roots", _list(runtime, "cudaGraphGetRootNodes", graph, nodes))
    runtime.note("edges", _edges(runtime, graph, nodes))
    for node in nodes:
        before = _list(runtime, "cudaGraphNodeGetDependencies", node, nodes, *data)
        after = _list(runtime, "cudaGraphNodeGetDependentNodes", node, nodes, *data)
        runtime.note("before, after", [before, after])
    kind = c_int()
    runtime.cudaGraphNodeGetType(nodes[0], byref(kind))
    runtime.note("type", kind.value)
    _change(runtime, "cudaGraphAddDependencies", graph, nodes[0], nodes[3])
    runtime.note("edges", _edges(runtime, graph, nodes))
    _change(runtime, "cudaGraphRemoveDependencies", graph, nodes[0], nodes[1])
    runtime.note("edges", _edges(runtime, graph, nodes))
    runtime.cudaGraphDestroyNode(nodes[2])
    runtime.note("edges", _edges(runtime, graph, nodes))
    runtime.cudaGraphDestroy(graph)


def fewer_nodes_than_there_are(runtime):
    graph, nodes = _diamond(runtime)
    for room in (2, 6):
        count, found = c_size_t(room), (c_void_p * 6)(*[1] * 6)
        runtime.cudaGraphGetNodes(graph, found, byref(count))
        runtime.note("count", count.value)
        runtime.note("found", [nodes.index(n) if n in nodes else n for n in found])
    runtime.cudaGraphDestroy(graph)


def edges_with_properties(runtime):
    graph, nodes = _diamond(runtime)
    named = "cudaGraph{}_v2" if runtime.major == 12 else "cudaGraph{}"
    pair = byref(c_void_p(nodes[0])), byref(c_void_p(nodes[3]))
    for edge in (GraphEdgeData(), GraphEdgeData(1, 0, 1), GraphEdgeData(0, 0, 7)):
        getattr(runtime, named.format("AddDependencies"))(graph, *pair, byref(edge), 1)
        runtime.note("edges", _edges(runtime, graph, nodes))
    count, edges = c_size_t(8), (GraphEdgeData * 8)()
    start, end = (c_void_p * 8)(), (c_void_p * 8)()
    getattr(runtime, named.format("GetEdges"))(graph, start, end, edges, byref(count))
    runtime.note("edges", count.value)
    runtime.note("types", [edge.type for edge in edges[: count.value]])
    for which, node in (("NodeGetDependencies", nodes[3]), ("NodeGetDependentNodes", nodes[0])):
        count = c_size_t(8)
        getattr(runtime, named.format(which))(node, start, edges, byref(count))
        runtime.note("count", count.value)
    getattr(runtime, named.format("RemoveDependencies"))(graph, *pair, byref(GraphEdgeData()), 1)
    runtime.note("edges", _edges(runtime, graph, nodes))
    runtime.cudaGraphDestroy(graph)


def wrong_edges(runtime):
    graph, nodes = _diamond(runtime)
    _change(runtime, "cudaGraphAddDependencies", graph, nodes[3], nodes[0])
    _change(runtime, "cudaGraphAddDependencies", graph, nodes[0], nodes[1])
    _change(runtime, "cudaGraphAddDependencies", graph, nodes[0], nodes[0])
    _change(runtime, "cudaGraphAddDependencies", graph, nodes[0], 0)
    _change(runtime, "cudaGraphAddDependencies", 0, nodes[0], nodes[3])
    _change(runtime, "cudaGraphRemoveDependencies", graph, nodes[0], nodes[3])
    _change(runtime, "cudaGraphRemoveDependencies", 0, nodes[0], nodes[1])
    data = () if runtime.major == 12 else (None,)
    runtime.cudaGraphAddDependencies(graph, None, None, *data, 0)
    runtime.cudaGraphAddDependencies(graph, None, None, *data, 1)
    runtime.cudaGraphGetEdges(graph, None, None, *data, None)
    runtime.cudaGraphNodeGetDependencies(nodes[0], None, *data, None)
    runtime.cudaGraphNodeGetDependentNodes(nodes[0], None, *data, None)
    count = c_size_t()
    runtime.cudaGraphGetEdges(0, None, None, *data, byref(count))
    runtime.cudaGraphNodeGetDependencies(0, None, *data, byref(count))
    runtime.cudaGraphNodeGetDependentNodes(0, None, *data, byref(count))
    runtime.note("edges", _edges(runtime, graph, nodes))
    runtime.cudaGraphDestroy(graph)


def wrong_graphs_and_nodes(runtime):
    runtime.cudaGraphCreate(None, 0)
    made = c_void_p()
    runtime.cudaGraphCreate(byref(made), 1)
    graph = runtime.handle("cudaGraphCreate", 0)
    node = _empty(runtime, graph)
    count, kind = c_size_t(), c_int()
    runtime.cudaGraphDestroy(0)
    runtime.cudaGraphDestroyNode(0)
    runtime.cudaGraphAddEmptyNode(None, graph, None, 0)
    runtime.cudaGraphAddEmptyNode(byref(made), 0, None, 0)
    runtime.cudaGraphAddEmptyNode(byref(made), graph, None, 1)
    runtime.cudaGraphAddEmptyNode(byref(made), graph, (c_void_p * 2)(node, node), 2)
    other = runtime.handle("cudaGraphCreate", 0)
    runtime.cudaGraphAddEmptyNode(byref(made), other, byref(c_void_p(node)), 1)
    runtime.cudaGraphGetNodes(graph, None, None)
    runtime.cudaGraphGetNodes(0, None, byref(count))
    runtime.cudaGraphGetRootNodes(graph, None, None)
    runtime.cudaGraphGetRootNodes(0, None, byref(count))
    runtime.cudaGraphNodeGetType(node, None)
    runtime.cudaGraphNodeGetType(0, byref(kind))
    runtime.cudaGraphClone(None, graph)
    runtime.cudaGraphClone(byref(made), 0)
    runtime.cudaGraphNodeFindInClone(byref(made), node, graph)
    runtime.cudaGraphNodeFindInClone(None, node, graph)
    runtime.cudaGraphDebugDotPrint(0, b"/dev/null", 0)
    runtime.cudaGraphDebugDotPrint(graph, None, 0)
    runtime.cudaGraphDebugDotPrint(graph, b"/no/such/folder/graph.dot", 0)
    for each in (graph, other):
        runtime.cudaGraphDestroy(each)


def a_clone(runtime):
    graph, nodes = _diamond(runtime)
    clone = runtime.handle("cudaGraphClone", graph)
    found = [runtime.handle("cudaGraphNodeFindInClone", node, clone) for node in nodes]
    runtime.note("different", len({*found, *nodes}))
    runtime.note("edges", _edges(runtime, clone, found))
    runtime.cudaGraphDestroyNode(found[1])
    runtime.note("edges", [_edges(runtime, graph, nodes), _edges(runtime, clone, found)])
    runtime.cudaGraphDestroy(graph)
    runtime.cudaGraphDestroy(clone)


def a_picture(runtime):
    graph, _ = _diamond(runtime)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "graph.dot")
        runtime.cudaGraphDebugDotPrint(graph, path.encode(), 0)
        with open(path) as file:
            text = file.read()
    runtime.note("digraph", "digraph" in text)
    runtime.note("edges", text.count("->"))
    runtime.cudaGraphDestroy(graph)


def _adding(runtime, numbers):
    """A graph of one kernel node that adds 1 to four numbers."""
    graph = runtime.handle("cudaGraphCreate", 0)
    params = kernel_node(runtime.kernel("add1"), (1, 1, 1), (4, 1, 1), [c_uint64(numbers)])
    return graph, runtime.handle("cudaGraphAddKernelNode", graph, None, 0, byref(params))


def every_way_to_instantiate(runtime):
    numbers = runtime.upload([0, 0, 0, 0])
    graph, _ = _adding(runtime, numbers)
    stream = runtime.handle("cudaStreamCreate")
    params = GraphInstantiateParams(2, stream)
    execs = [
        runtime.handle("cudaGraphInstantiate", graph, 0),
        runtime.handle("cudaGraphInstantiateWithFlags", graph, 1),
        runtime.handle("cudaGraphInstantiateWithParams", graph, byref(params)),
        runtime.handle("cudaGraphInstantiateWithParams_ptsz", graph, byref(params)),
    ]
    runtime.note("result", params.result_out)
    for each in execs:
        flags = c_uint64()
        runtime.cudaGraphExecGetFlags(each, byref(flags))
        runtime.note("flags", flags.value)
        runtime.cudaGraphUpload(each, stream)
        runtime.cudaGraphUpload_ptsz(each, 0)
        runtime.cudaGraphLaunch(each, stream)
        runtime.cudaGraphLaunch(each, stream)
        runtime.cudaStreamSynchronize(stream)
        runtime.cudaGraphLaunch_ptsz(each, 0)
        runtime.cudaDeviceSynchronize()
        runtime.note("numbers", runtime.ints(numbers, 4))
    runtime.cudaGraphDestroy(graph)
    runtime.cudaGraphLaunch(execs[0], LEGACY)
    runtime.note("numbers", runtime.ints(numbers, 4))
    for each in execs:
        runtime.cudaGraphExecDestroy(each)


def wrong_instantiations_and_launches(runtime):
    graph, _ = _diamond(runtime)
    made, flags = c_void_p(), c_uint64()
    runtime.cudaGraphInstantiate(None, graph, 0)
    runtime.cudaGraphInstantiate(byref(made), 0, 0)
    runtime.cudaGraphInstantiate(byref(made), graph, 1 << 20)
    runtime.cudaGraphInstantiateWithFlags(None, graph, 0)
    runtime.cudaGraphInstantiateWithFlags(byref(made), 0, 0)
    runtime.cudaGraphInstantiateWithFlags(byref(made), graph, 1 << 20)
    runtime.cudaGraphInstantiateWithParams(byref(made), graph, None)
    runtime.cudaGraphInstantiateWithParams(byref(made), 0, byref(GraphInstantiateParams()))
    runtime.cudaGraphInstantiateWithParams(None, graph, byref(GraphInstantiateParams()))
    runtime.cudaGraphExecGetFlags(0, byref(flags))
    exec_ = runtime.handle("cudaGraphInstantiate", graph, 0)
    runtime.cudaGraphExecGetFlags(exec_, None)
    runtime.cudaGraphLaunch(0, 0)
    runtime.cudaGraphUpload(0, 0)
    runtime.cudaGraphExecDestroy(0)
    runtime.cudaGraphExecDestroy(exec_)
    runtime.cudaGetLastError()
    runtime.cudaGraphDestroy(graph)


def an_update(runtime):
    numbers, others = runtime.upload([0] * 4), runtime.upload([10] * 4)
    graph, _ = _adding(runtime, numbers)
    changed, _ = _adding(runtime, others)
    larger, node = _adding(runtime, others)
    _empty(runtime, larger, node)
    empty = runtime.handle("cudaGraphCreate", 0)
    _empty(runtime, empty)
    exec_ = runtime.handle("cudaGraphInstantiate", graph, 0)
    for new in (changed, larger, empty):
        info = GraphExecUpdateResultInfo(99)
        runtime.cudaGraphExecUpdate(exec_, new, byref(info))
        runtime.note("result", info.result)
        runtime.note("node", bool(info.errorNode))
        runtime.cudaGraphLaunch(exec_, 0)
        runtime.note("numbers", [runtime.ints(numbers, 4), runtime.ints(others, 4)])
    runtime.cudaGetLastError()
    info = GraphExecUpdateResultInfo(99)
    runtime.cudaGraphExecUpdate(0, graph, byref(info))
    runtime.cudaGraphExecUpdate(exec_, 0, byref(info))
    runtime.cudaGraphExecDestroy(exec_)


def nodes_are_switched_off(runtime):
    numbers = runtime.upload([0] * 4)
    graph, node = _adding(runtime, numbers)
    fill = MemsetParams(numbers, 0, 8, 4, 4, 1)
    filled = runtime.handle("cudaGraphAddMemsetNode", graph, None, 0, byref(fill))
    _change(runtime, "cudaGraphAddDependencies", graph, filled, node)
    empty = _empty(runtime, graph)
    exec_ = runtime.handle("cudaGraphInstantiate", graph, 0)
    for which, on in ((filled, 1), (filled, 0), (node, 0), (filled, 2), (empty, 0)):
        enabled = c_uint(7)
        runtime.cudaGraphNodeSetEnabled(exec_, which, on)
        runtime.cudaGraphNodeGetEnabled(exec_, which, byref(enabled))
        runtime.note("enabled", enabled.value)
        runtime.cudaGraphLaunch(exec_, 0)
        runtime.note("numbers", runtime.ints(numbers, 4))
    runtime.cudaGraphNodeSetEnabled(0, node, 1)
    runtime.cudaGraphNodeSetEnabled(exec_, 0, 1)
    runtime.cudaGraphNodeGetEnabled(exec_, node, None)
    runtime.cudaGraphNodeGetEnabled(0, node, byref(enabled))
    runtime.cudaGraphExecDestroy(exec_)
    runtime.cudaGraphDestroy(graph)


def objects_live_as_long_as_graphs(runtime):
    freed, destroyed = [], threading.Event()

    @HostFunction
    def destroy(data):
        freed.append(data)
        destroyed.set()

    def note_freed(seconds):
        destroyed.wait(seconds)  # the driver calls it in a thread of its own
        runtime.note("freed", freed[:])
        destroyed.clear()

    no_sync = 1
    graph = runtime.handle("cudaGraphCreate", 0)
    held = runtime.handle("cudaUserObjectCreate", 5, destroy, 1, no_sync)
    runtime.cudaGraphRetainUserObject(graph, held, 1, 1)
    note_freed(0.1)
    runtime.cudaGraphDestroy(graph)
    note_freed(5)
    graph = runtime.handle("cudaGraphCreate", 0)
    held = runtime.handle("cudaUserObjectCreate", 6, destroy, 2, no_sync)
    runtime.cudaUserObjectRetain(held, 1)
    runtime.cudaGraphRetainUserObject(graph, held, 2, 0)
    runtime.cudaGraphReleaseUserObject(graph, held, 1)
    runtime.cudaUserObjectRelease(held, 3)
    note_freed(0.1)
    runtime.cudaGraphReleaseUserObject(graph, held, 1)
    note_freed(5)
    runtime.cudaGraphDestroy(graph)


def wrong_objects(runtime):
    destroyed = threading.Event()
    destroy = HostFunction(lambda data: destroyed.set())
    made = c_void_p()
    runtime.cudaUserObjectCreate(byref(made), 0, destroy, 0, 1)
    runtime.cudaUserObjectCreate(byref(made), 0, destroy, 1, 0)
    held = runtime.handle("cudaUserObjectCreate", 0, destroy, 1, 1)
    graph = runtime.handle("cudaGraphCreate", 0)
    runtime.cudaUserObjectRetain(held, 0)
    runtime.cudaGraphRetainUserObject(graph, held, 0, 0)
    runtime.cudaGraphRetainUserObject(graph, held, 1, 4)
    runtime.cudaUserObjectRelease(held, 1)
    runtime.note("destroyed", destroyed.wait(5))
    runtime.cudaGraphDestroy(graph)


def memory_of_graphs(runtime):
    for attribute in range(4):
        value = c_uint64(99)
        runtime.cudaDeviceGetGraphMemAttribute(0, attribute, byref(value))
        runtime.note("value", value.value)
        runtime.cudaDeviceSetGraphMemAttribute(0, attribute, byref(c_uint64(0)))
        runtime.cudaDeviceSetGraphMemAttribute(0, attribute, byref(c_uint64(1)))
    runtime.cudaDeviceGraphMemTrim(0)
    value = c_uint64()
    for device in (-1, 99):
        runtime.cudaDeviceGraphMemTrim(device)
        runtime.cudaDeviceGetGraphMemAttribute(device, 0, byref(value))
        runtime.cudaDeviceSetGraphMemAttribute(device, 1, byref(value))
    runtime.cudaDeviceGetGraphMemAttribute(0, 77, byref(value))
    runtime.cudaDeviceGetGraphMemAttribute(0, 0, None)
    runtime.cudaDeviceSetGraphMemAttribute(0, 1, None)


assert ctypes.sizeof(GraphInstantiateParams) == 32
