"""Nodes of graphs: parameters by one structure, which nodes are enabled, objects of the program."""

import ctypes
import struct
from ctypes import byref, c_int, c_size_t, c_uint, c_uint64, c_void_p

from driver_abi import *

from .graphs import CHILD, COPY, EMPTY, FILL, HOST, KERNEL, RECORD, WAIT
from .node_params import COOPERATIVE, FREE, PRIORITY, Graph, graph, params

__all__ = ["graph"]


def test_each_kind_of_node_is_added_by_one_structure(cuda, graph, memory, kernel, events):
    called, event, host = [], events(), cuda.pinned(128)
    function = HostFunction(lambda data: called.append(data))
    fill = graph.fill(memory, 4, 32)
    add = graph.kernel(kernel("add1"), c_uint64(memory), after=[fill])
    copy = graph.copy(host, memory, 128, after=[add], host=True)
    where = ctypes.cast(function, c_void_p).value
    call, _ = graph.add(HOST, struct.pack("QQ", where, 77), after=[copy])
    record, _ = graph.add(RECORD, struct.pack("Q", event), after=[call])
    wait, _ = graph.add(WAIT, struct.pack("Q", event), after=[record])
    inner = Graph(cuda)
    inner.kernel(kernel("add1"), c_uint64(memory))
    child, _ = graph.add(CHILD, struct.pack("Qii", inner.handle.value, 0, 0), after=[wait])
    last, _ = graph.add(EMPTY, after=[child])
    nodes = [fill, add, copy, call, record, wait, child, last]
    kind = c_int()
    for node, expected in zip(
        nodes, (FILL, KERNEL, COPY, HOST, RECORD, WAIT, CHILD, EMPTY), strict=True
    ):
        cuda.cuGraphNodeGetType(node, byref(kind))
        assert kind.value == expected
    graph.run()
    assert called == [77]
    assert [word(host + 4 * i).value for i in range(32)] == [5] * 32
    assert cuda.read(memory, 32) == [6] * 32
    cuda.cuGraphDestroy(inner.handle)
    cuda.cuMemFreeHost(c_void_p(host))


def test_parameters_are_read_and_set_by_one_structure(cuda, graph, memory):
    node = graph.fill(memory, 1, 4)
    cuda.cuGraphNodeSetParams(
        node, byref(params(FILL, struct.pack("QQIIQQQ", memory, 0, 2, 4, 4, 1, 0)))
    )
    ready = graph.ready()
    cuda.cuGraphLaunch(ready, 0)
    assert cuda.read(memory, 5) == [2, 2, 2, 2, 0]
    cuda.cuGraphExecNodeSetParams(
        ready, node, byref(params(FILL, struct.pack("QQIIQQQ", memory, 0, 3, 4, 5, 1, 0)))
    )
    cuda.cuGraphLaunch(ready, 0)
    assert cuda.read(memory, 6) == [3, 3, 3, 3, 3, 0]
    assert cuda.code("cuGraphNodeSetParams", node, byref(params(EMPTY))) == INVALID_VALUE
    cuda.cuGraphExecDestroy(ready)


def test_a_disabled_node_does_not_run(cuda, graph, memory):
    first = graph.fill(memory, 1, 2)
    second = graph.fill(memory, 2, 1, after=[first])
    ready, enabled = graph.ready(), c_uint(7)
    cuda.cuGraphNodeGetEnabled(ready, second, byref(enabled))
    assert enabled.value == 1
    cuda.cuGraphNodeSetEnabled(ready, second, 0)
    cuda.cuGraphNodeGetEnabled(ready, second, byref(enabled))
    assert enabled.value == 0
    cuda.cuGraphLaunch(ready, 0)
    cuda.cuCtxSynchronize()
    assert cuda.read(memory, 2) == [1, 1]
    cuda.cuGraphNodeSetEnabled(ready, second, 1)
    cuda.cuGraphLaunch(ready, 0)
    cuda.cuCtxSynchronize()
    assert cuda.read(memory, 2) == [2, 1]
    cuda.cuGraphExecDestroy(ready)


def test_a_child_graph_is_replaced_by_another(cuda, graph, memory):
    inner, other = Graph(cuda), Graph(cuda)
    inner.fill(memory, 1, 4)
    other.fill(memory, 9, 4)
    child, _ = graph.add(CHILD, struct.pack("Qii", inner.handle.value, 0, 0))
    ready = graph.ready()
    cuda.cuGraphExecChildGraphNodeSetParams(ready, child, other.handle)
    cuda.cuGraphLaunch(ready, 0)
    assert cuda.read(memory, 4) == [9] * 4
    for each in (inner, other):
        cuda.cuGraphDestroy(each.handle)
    cuda.cuGraphExecDestroy(ready)


def test_a_child_graph_of_other_nodes_is_refused(cuda, graph, memory):
    inner, other = Graph(cuda), Graph(cuda)
    inner.fill(memory, 1, 4)
    other.add(EMPTY)
    child, _ = graph.add(CHILD, struct.pack("Qii", inner.handle.value, 0, 0))
    ready = graph.ready()
    code = cuda.code("cuGraphExecChildGraphNodeSetParams", ready, child, other.handle)
    assert code == GRAPH_EXEC_UPDATE_FAILURE
    cuda.cuGraphLaunch(ready, 0)
    assert cuda.read(memory, 4) == [1] * 4
    for each in (inner, other):
        cuda.cuGraphDestroy(each.handle)
    cuda.cuGraphExecDestroy(ready)


def test_a_child_graph_is_moved_into_its_node(cuda, graph, memory):
    """It keeps its handle and those of its nodes, and may have memory nodes."""
    inner = Graph(cuda)
    allocation, address = inner.allocate(64)
    fill = inner.fill(address, 5, 16, after=[allocation])
    copy = inner.copy(memory, address, 64, after=[fill])
    inner.add(FREE, struct.pack("Q", address), after=[copy])
    made, none = c_void_p(), c_void_p()
    cloned = params(CHILD, struct.pack("Qii", inner.handle.value, 0, 0))
    add = "cuGraphAddNode_v2"
    assert cuda.code(add, byref(made), graph.handle, none, none, 0, byref(cloned)) == NOT_SUPPORTED
    child, _ = graph.add(CHILD, struct.pack("Qii", inner.handle.value, 1, 0))
    seen = c_void_p()
    cuda.cuGraphChildGraphNodeGetGraph(child, byref(seen))
    assert seen.value == inner.handle.value
    graph.run()
    assert cuda.read(memory, 16) == [5] * 16
    assert cuda.code("cuGraphDestroy", inner.handle) == INVALID_VALUE
    for call in (
        ("cuGraphInstantiateWithFlags", byref(made), inner.handle, 0),
        ("cuGraphAddChildGraphNode", byref(made), graph.handle, none, 0, inner.handle),
        ("cuGraphAddMemFreeNode", byref(made), inner.handle, none, 0, address),
    ):
        assert cuda.code(*call) == NOT_SUPPORTED
    if not cuda.on_hardware:  # driver 580 does not destroy such a node
        cuda.cuGraphDestroyNode(child)


def test_an_empty_node_takes_empty_parameters(cuda, graph):
    node, given = graph.add(EMPTY)
    ready = graph.ready()
    cuda.cuGraphNodeSetParams(node, byref(given))
    cuda.cuGraphExecNodeSetParams(ready, node, byref(given))
    cuda.cuGraphExecDestroy(ready)


def test_properties_of_edges_are_checked(cuda, graph, kernel):
    """Programmatic edges start at kernel nodes; the CPU device has none."""
    empty, made = graph.add(EMPTY)
    launch = graph.kernel(kernel("empty"))
    last, _ = graph.add(EMPTY)
    for start, edge, expected in (
        (empty, b"\0\0\0", SUCCESS),
        (empty, b"\0\0\7", INVALID_VALUE),
        (empty, b"\1\0\1", INVALID_VALUE),
        (launch, b"\0\0\7", INVALID_VALUE),
        *([] if cuda.on_hardware else [(launch, b"\1\0\1", NOT_SUPPORTED)]),
    ):
        data, before, added = edge + bytes(5), byref(c_void_p(start)), c_void_p()
        count = c_size_t(1)
        code = cuda.code(
            "cuGraphAddNode_v2", byref(added), graph.handle, before, data, count, byref(made)
        )
        assert code == expected, (start == launch, edge)
        to = byref(c_void_p(last))
        code = cuda.code("cuGraphAddDependencies_v2", graph.handle, before, to, data, count)
        assert code == expected, (start == launch, edge)


def test_neighbours_need_room_for_a_node(cuda, graph):
    first, _ = graph.add(EMPTY)
    second, _ = graph.add(EMPTY, after=[first])
    found = (c_void_p * 2)()
    for call, node in (
        ("cuGraphNodeGetDependencies", second),
        ("cuGraphNodeGetDependentNodes", first),
    ):
        assert cuda.code(call, node, found, byref(c_size_t(0))) == INVALID_VALUE
        count = c_size_t(2)
        getattr(cuda, call)(node, found, byref(count))
        assert (count.value, found[0]) == (1, first if node == second else second)
    assert cuda.code("cuGraphNodeGetDependencies", first, found, byref(c_size_t(0))) == (
        INVALID_VALUE
    )


# -- objects and attributes ------------------------------------------------------------------------


def test_user_objects_live_as_long_as_their_owners(cuda):
    gone = []
    function = HostFunction(lambda data: gone.append(data))
    thing, graph, copy = c_void_p(), Graph(cuda), c_void_p()
    graph.add(EMPTY)
    cuda.cuUserObjectCreate(byref(thing), c_void_p(5), function, 1, 1)
    cuda.cuUserObjectRetain(thing, 2)
    cuda.cuUserObjectRelease(thing, 1)
    cuda.cuGraphRetainUserObject(graph.handle, thing, 1, 0)
    cuda.cuUserObjectRelease(thing, 2)
    cuda.cuGraphClone(byref(copy), graph.handle)
    ready = graph.ready()
    for end, which in (("cuGraphDestroy", graph.handle), ("cuGraphDestroy", copy)):
        cuda.code(end, which)
        assert gone == []
    cuda.cuGraphLaunch(ready, 0)
    cuda.cuCtxSynchronize()
    cuda.cuGraphExecDestroy(ready)
    eventually(lambda: gone == [5])


def test_references_are_moved_to_a_graph_and_released(cuda):
    gone = []
    function = HostFunction(lambda data: gone.append(data))
    thing, graph = c_void_p(), Graph(cuda)
    cuda.cuUserObjectCreate(byref(thing), c_void_p(6), function, 3, 1)
    cuda.cuGraphRetainUserObject(graph.handle, thing, 3, 1)  # moved
    cuda.cuGraphReleaseUserObject(graph.handle, thing, 2)
    assert gone == []
    cuda.cuGraphReleaseUserObject(graph.handle, thing, 1)
    eventually(lambda: gone == [6])
    cuda.cuGraphDestroy(graph.handle)


def test_more_references_than_exist_are_refused(cuda, own):
    """CUDA leaves this undefined; the CPU device refuses it."""
    gone = []
    function = HostFunction(lambda data: gone.append(data))
    thing, graph = c_void_p(), Graph(cuda)
    cuda.cuUserObjectCreate(byref(thing), c_void_p(8), function, 2, 1)
    assert cuda.code("cuGraphRetainUserObject", graph.handle, thing, 5, 1) == INVALID_VALUE
    assert cuda.code("cuGraphReleaseUserObject", graph.handle, thing, 1) == INVALID_VALUE
    cuda.cuGraphRetainUserObject(graph.handle, thing, 1, 1)
    assert cuda.code("cuGraphRetainUserObject", graph.handle, thing, 2, 1) == INVALID_VALUE
    assert cuda.code("cuUserObjectRelease", thing, 2) == INVALID_VALUE  # the graph has a reference
    cuda.cuUserObjectRelease(thing, 1)
    assert cuda.code("cuUserObjectRelease", thing, 1) == INVALID_VALUE and gone == []
    cuda.cuGraphDestroy(graph.handle)
    eventually(lambda: gone == [8])


def test_kernel_nodes_have_attributes(cuda, graph, kernel):
    node, other = graph.kernel(kernel("empty")), graph.kernel(kernel("empty"))
    value = (c_int * 16)()
    cuda.cuGraphKernelNodeGetAttribute(node, PRIORITY, value)
    assert value[0] == 0
    value[0] = -1
    cuda.cuGraphKernelNodeSetAttribute(node, PRIORITY, value)
    value[0] = 1
    cuda.cuGraphKernelNodeSetAttribute(node, COOPERATIVE, value)
    cuda.cuGraphKernelNodeCopyAttributes(other, node)
    for which, expected in ((PRIORITY, -1), (COOPERATIVE, 1)):
        value[0] = 99
        cuda.cuGraphKernelNodeGetAttribute(other, which, value)
        assert value[0] == expected
    graph.run()
