"""Graphs: nodes and edges, launching, and changing what is ready to launch."""

import ctypes
import struct
from ctypes import byref, c_int, c_size_t, c_uint, c_uint64, c_void_p

import pytest
from driver_abi import *

from .graphs import (
    EMPTY,
    FILL,
    KERNEL,
    FillParams,
    Graph,
    HostParams,
    KernelParams,
    kernel_params,
    line,
)

UPDATE_FAILURE = 910
TOPOLOGY_CHANGED, TYPE_CHANGED = 2, 3


@pytest.fixture
def graph(cuda, kernel):
    made = Graph(cuda, kernel)
    yield made
    cuda.cuGraphDestroy(made.handle)


@pytest.fixture
def stream(cuda):
    made = cuda.stream(NON_BLOCKING)
    yield made
    cuda.cuStreamDestroy_v2(made)


def run(cuda, ready, stream, times=1):
    for _ in range(times):
        cuda.cuGraphLaunch(ready, stream)
    cuda.cuStreamSynchronize(stream)


def test_nodes_run_in_the_order_of_their_edges(cuda, graph, memory, stream):
    seen = []
    fill = graph.fill(memory, 5, 64)
    add = graph.launch("add1", 2, 32, c_uint64(memory), after=[fill])
    copy = graph.copy(memory + 2048, memory, 256, after=[add])
    again = graph.launch("add1", 2, 32, c_uint64(memory), after=[copy])
    graph.host(seen.append, 7, after=[again])
    ready = graph.instantiate()
    run(cuda, ready, stream, 3)
    assert seen == [7, 7, 7]
    assert cuda.read(memory, 64) == [7] * 64
    assert cuda.read(memory + 2048, 64) == [6] * 64
    cuda.cuGraphExecDestroy(ready)


def test_arguments_are_copied_when_the_node_is_added(cuda, graph, memory, stream):
    value = c_uint(11)
    graph.launch("store", 1, 32, c_uint64(memory), value)
    value.value = 99
    ready = graph.instantiate()
    run(cuda, ready, stream)
    assert cuda.read(memory, 32) == [11] * 32
    cuda.cuGraphExecDestroy(ready)


def test_nodes_and_edges_are_listed(cuda, graph, memory):
    first, second = graph.fill(memory, 1, 4), graph.fill(memory, 2, 4)
    third = graph.launch("empty", 3, 64, after=[first, second])
    last = graph.node("cuGraphAddEmptyNode", after=[third])
    assert graph.nodes() == [first, second, third, last]
    assert set(graph.nodes("cuGraphGetRootNodes")) == {first, second}  # in any order
    assert graph.edges() == {(first, third), (second, third), (third, last)}
    kind = c_int(-1)
    types = []
    for node in graph.nodes():
        cuda.cuGraphNodeGetType(node, byref(kind))
        types.append(kind.value)
    assert types == [FILL, FILL, KERNEL, EMPTY]
    count, found = c_size_t(2), (c_void_p * 2)()
    cuda.cuGraphNodeGetDependencies(third, found, byref(count))
    assert (count.value, set(found)) == (2, {first, second})
    count.value = 2
    cuda.cuGraphNodeGetDependentNodes(third, found, byref(count))
    assert (count.value, found[0]) == (1, last)
    parameters = KernelParams()
    cuda.cuGraphKernelNodeGetParams_v2(third, byref(parameters))
    assert (parameters.gx, parameters.bx, parameters.func) == (3, 64, graph.kernel("empty"))
    fill = FillParams()
    cuda.cuGraphMemsetNodeGetParams(second, byref(fill))
    assert (fill.dst, fill.value, fill.element, fill.width, fill.height) == (memory, 2, 4, 4, 1)


def test_a_kernel_nodes_parameters_can_be_read_and_changed(cuda, graph, memory, stream):
    node = graph.launch("store", 1, 32, c_uint64(memory), c_uint(3))
    seen = KernelParams()
    cuda.cuGraphKernelNodeGetParams_v2(node, byref(seen))
    assert c_uint64.from_address(seen.params[0]).value == memory
    assert c_uint.from_address(seen.params[1]).value == 3
    changed = kernel_params(graph.kernel("store"), 1, 32, c_uint64(memory), c_uint(4))
    cuda.cuGraphKernelNodeSetParams_v2(node, byref(changed))
    ready = graph.instantiate()
    run(cuda, ready, stream)
    assert cuda.read(memory, 32) == [4] * 32
    changed = kernel_params(graph.kernel("store"), 2, 32, c_uint64(memory), c_uint(5))
    cuda.cuGraphExecKernelNodeSetParams_v2(ready, node, byref(changed))
    run(cuda, ready, stream)
    assert cuda.read(memory, 64) == [5] * 64
    cuda.cuGraphKernelNodeGetParams_v2(node, byref(seen))  # the graph itself is as it was
    assert c_uint.from_address(seen.params[1]).value == 4
    cuda.cuGraphExecDestroy(ready)


def test_other_nodes_of_an_executable_graph_can_be_changed(cuda, graph, memory, stream):
    seen = []
    fill = graph.fill(memory, 1, 8)
    copy = graph.copy(memory + 1024, memory, 32, after=[fill])
    host = graph.host(seen.append, 1, after=[copy])
    ready = graph.instantiate()
    context = graph.context
    cuda.cuGraphExecMemsetNodeSetParams(
        ready, fill, byref(FillParams(memory, 0, 6, 4, 8, 1)), context
    )
    cuda.cuGraphExecMemcpyNodeSetParams(
        ready, copy, byref(line(memory + 2048, memory, 32)), context
    )
    call = HostFunction(seen.append)
    cuda.cuGraphExecHostNodeSetParams(
        ready, host, byref(HostParams(ctypes.cast(call, c_void_p), 2))
    )
    run(cuda, ready, stream)
    assert seen == [2]
    assert cuda.read(memory + 2048, 8) == [6] * 8 and cuda.read(memory + 1024, 8) == [0] * 8
    cuda.cuGraphExecDestroy(ready)


def test_a_copy_is_read_as_it_was_described(cuda, graph, memory):
    """Two rows of four bytes, from the second word of a row."""
    box = line(memory + 1024, memory, 4)
    box.height, box.srcX, box.dstX, box.srcPitch, box.dstPitch = 2, 4, 8, 16, 32
    node = graph.node("cuGraphAddMemcpyNode", byref(box), graph.context)
    plain = graph.copy(memory + 1024, memory, 32)
    for each, given in ((node, box), (plain, line(memory + 1024, memory, 32))):
        seen = type(box)()
        cuda.cuGraphMemcpyNodeGetParams(each, byref(seen))
        for name in ("X", "Y", "Device", "Pitch", "Height"):
            for side in ("src", "dst"):
                assert getattr(seen, side + name) == getattr(given, side + name), (side, name)
        assert (seen.width, seen.height, seen.depth) == (given.width, given.height, 1)


def test_only_rows_are_changed_in_an_executable_graph(cuda, graph, memory):
    box = line(memory + 1024, memory, 4)
    box.height, box.srcPitch, box.dstPitch = 2, 16, 16
    boxes = graph.node("cuGraphAddMemcpyNode", byref(box), graph.context)
    row = graph.copy(memory + 1024, memory, 32)
    ready = graph.instantiate()
    change = "cuGraphExecMemcpyNodeSetParams"
    other = line(memory + 1024, memory, 8)
    assert cuda.code(change, ready, boxes, byref(other), graph.context) == INVALID_VALUE
    assert cuda.code(change, ready, row, byref(box), graph.context) == INVALID_VALUE
    assert cuda.code(change, ready, row, byref(other), graph.context) == SUCCESS
    cuda.cuGraphExecDestroy(ready)


def test_an_upload_is_no_flag_of_an_executable_graph(cuda, graph, memory, stream):
    graph.fill(memory, 1, 4)
    made, flags = c_void_p(), c_uint64()
    given = bytearray(struct.pack("QQQi4x", 1 | 2, stream, 0, 0))  # AUTO_FREE_ON_LAUNCH, UPLOAD
    given = (ctypes.c_ubyte * len(given)).from_buffer(given)
    cuda.cuGraphInstantiateWithParams(byref(made), graph.handle, given)
    cuda.cuGraphExecGetFlags(made, byref(flags))
    assert flags.value == 1
    cuda.cuGraphExecDestroy(made)


def test_edges_are_added_and_removed(cuda, graph, memory):
    first, second = graph.fill(memory, 1, 4), graph.fill(memory, 2, 4)
    start, end = (c_void_p * 1)(first), (c_void_p * 1)(second)
    cuda.cuGraphAddDependencies(graph.handle, start, end, 1)
    assert graph.edges() == {(first, second)}
    assert cuda.code("cuGraphAddDependencies", graph.handle, start, end, 1) == INVALID_VALUE
    cuda.cuGraphRemoveDependencies(graph.handle, start, end, 1)
    assert graph.edges() == set()
    cuda.cuGraphAddDependencies(graph.handle, start, end, 1)
    cuda.cuGraphDestroyNode(first)
    assert graph.nodes() == [second] and graph.edges() == set()


def test_a_graph_with_a_cycle_is_refused(cuda, graph, memory):
    first = graph.fill(memory, 1, 4)
    second = graph.fill(memory, 2, 4, after=[first])
    start, end = (c_void_p * 1)(second), (c_void_p * 1)(first)
    if cuda.code("cuGraphAddDependencies", graph.handle, start, end, 1) == SUCCESS:
        code = cuda.code("cuGraphInstantiateWithFlags", byref(c_void_p()), graph.handle, 0)
        assert code == INVALID_VALUE


def test_a_child_graph_runs_as_a_node(cuda, kernel, graph, memory, stream):
    child = Graph(cuda, kernel)
    inner = child.launch("add1", 1, 32, c_uint64(memory))
    child.launch("add1", 1, 32, c_uint64(memory), after=[inner])
    fill = graph.fill(memory, 10, 32)
    node = graph.node("cuGraphAddChildGraphNode", child.handle, after=[fill])
    graph.launch("add1", 1, 32, c_uint64(memory), after=[node])
    cuda.cuGraphDestroy(child.handle)  # the parent graph has a copy
    ready = graph.instantiate()
    run(cuda, ready, stream, 2)
    assert cuda.read(memory, 32) == [13] * 32
    embedded, count = c_void_p(), c_size_t()
    cuda.cuGraphChildGraphNodeGetGraph(node, byref(embedded))
    cuda.cuGraphGetNodes(embedded, c_void_p(), byref(count))
    assert count.value == 2
    nodes = (c_void_p * 2)()
    cuda.cuGraphGetNodes(embedded, nodes, byref(count))
    changed = kernel_params(kernel("store"), 1, 32, c_uint64(memory), c_uint(20))
    cuda.cuGraphExecKernelNodeSetParams_v2(ready, nodes[0], byref(changed))
    run(cuda, ready, stream)
    assert cuda.read(memory, 32) == [22] * 32
    cuda.cuGraphExecDestroy(ready)


def test_a_clone_is_independent(cuda, graph, memory, stream):
    first = graph.fill(memory, 3, 4)
    second = graph.launch("add1", 1, 4, c_uint64(memory), after=[first])
    clone, twin = c_void_p(), c_void_p()
    cuda.cuGraphClone(byref(clone), graph.handle)
    cuda.cuGraphNodeFindInClone(byref(twin), second, clone)
    assert twin.value not in (None, second)
    cuda.cuGraphDestroyNode(second)
    ready = c_void_p()
    cuda.cuGraphInstantiateWithFlags(byref(ready), clone, 0)
    cuda.cuGraphDestroy(clone)
    run(cuda, ready, stream)
    assert cuda.read(memory, 4) == [4] * 4
    cuda.cuGraphExecDestroy(ready)


def test_another_graph_updates_an_executable_graph(cuda, kernel, graph, memory, stream):
    def build(into, value, kind="fill"):
        first = into.fill(memory, value, 32) if kind == "fill" else into.node("cuGraphAddEmptyNode")
        into.launch("add1", 1, 32, c_uint64(memory), after=[first])

    build(graph, 1)
    ready, info = graph.instantiate(), (c_uint64 * 3)()
    same, other, longer = (Graph(cuda, kernel) for _ in range(3))
    build(same, 8)
    build(other, 8, "empty")
    build(longer, 8)
    longer.node("cuGraphAddEmptyNode")
    cuda.cuGraphExecUpdate_v2(ready, same.handle, info)
    run(cuda, ready, stream)
    assert cuda.read(memory, 32) == [9] * 32
    assert cuda.code("cuGraphExecUpdate_v2", ready, longer.handle, info) == UPDATE_FAILURE
    assert info[0] & 0xFFFFFFFF == TOPOLOGY_CHANGED
    assert cuda.code("cuGraphExecUpdate_v2", ready, other.handle, info) == UPDATE_FAILURE
    assert info[0] & 0xFFFFFFFF == TYPE_CHANGED and info[1] == other.nodes()[0]
    run(cuda, ready, stream)
    assert cuda.read(memory, 32) == [9] * 32
    for each in (same, other, longer):
        cuda.cuGraphDestroy(each.handle)
    cuda.cuGraphExecDestroy(ready)


def test_a_graph_waits_for_events_and_records_them(cuda, graph, memory, stream):
    """A launch waits for an event of another stream, and records one."""
    event, done, other = cuda.event(), cuda.event(), cuda.stream(NON_BLOCKING)
    flag = cuda.pinned(4)
    wait = graph.node("cuGraphAddEventWaitNode", event)
    add = graph.launch("store", 1, 1, c_uint64(memory), c_uint(5), after=[wait])
    graph.node("cuGraphAddEventRecordNode", done, after=[add])
    ready = graph.instantiate()
    cuda.launch(graph.kernel("wait_flag"), 1, 1, c_uint64(flag), stream=other)
    cuda.cuEventRecord(event, other)
    cuda.cuGraphLaunch(ready, stream)
    assert cuda.code("cuStreamQuery", stream) == NOT_READY
    assert cuda.code("cuEventQuery", done) == NOT_READY
    word(flag).value = 1
    cuda.cuEventSynchronize(done)
    assert cuda.read(memory, 1) == [5]
    cuda.cuCtxSynchronize()
    cuda.cuGraphExecDestroy(ready)
    cuda.cuMemFreeHost(flag)
    cuda.cuStreamDestroy_v2(other)


def test_launches_of_one_graph_run_one_after_another(cuda, graph, memory):
    """The launches are on two streams; a gate holds the first."""
    first, second, flag = cuda.stream(NON_BLOCKING), cuda.stream(NON_BLOCKING), cuda.pinned(4)
    wait = graph.launch("wait_flag", 1, 1, c_uint64(flag))
    graph.launch("add1", 1, 32, c_uint64(memory), after=[wait])
    ready = graph.instantiate()
    cuda.cuGraphLaunch(ready, first)
    cuda.cuGraphLaunch(ready, second)
    assert cuda.code("cuStreamQuery", second) == NOT_READY
    cuda.cuGraphExecDestroy(ready)  # the launched graph still runs
    word(flag).value = 1
    cuda.cuCtxSynchronize()
    assert cuda.read(memory, 32) == [2] * 32
    cuda.cuMemFreeHost(flag)
    cuda.cuStreamDestroy_v2(first)
    cuda.cuStreamDestroy_v2(second)


def test_instantiate_with_params_and_upload(cuda, graph, memory, stream):
    graph.fill(memory, 2, 4)
    ready, parameters = c_void_p(), (c_uint64 * 4)(2, stream, 1, 9)
    cuda.cuGraphInstantiateWithParams(byref(ready), graph.handle, parameters)
    assert parameters[2] == 0 and parameters[3] & 0xFFFFFFFF == 0
    cuda.cuGraphUpload(ready, stream)
    run(cuda, ready, stream)
    assert cuda.read(memory, 4) == [2] * 4
    cuda.cuGraphExecDestroy(ready)


def test_misuse_of_graphs_is_refused(cuda, own, graph, memory):
    node = c_void_p()
    wide = kernel_params(graph.kernel("empty"), 1, 2048)
    call = lambda *a: cuda.code("cuGraphAddKernelNode_v2", byref(node), *a)
    assert call(graph.handle, c_void_p(), 0, byref(wide)) == INVALID_VALUE
    assert call(graph.handle, c_void_p(), 0, c_void_p()) == INVALID_VALUE
    assert call(0x123, c_void_p(), 0, byref(wide)) == INVALID_VALUE
    assert cuda.code("cuGraphCreate", byref(c_void_p()), 1) == INVALID_VALUE
    assert cuda.code("cuGraphLaunch", 0x123, 0) == INVALID_VALUE
    assert cuda.code("cuGraphDestroy", 0x123) == INVALID_VALUE
    fill = FillParams(memory, 0, 1, 3, 4, 1)
    code = cuda.code(
        "cuGraphAddMemsetNode", byref(node), graph.handle, c_void_p(), 0, byref(fill), c_void_p()
    )
    assert code == INVALID_VALUE
    own_graph = c_void_p(graph.handle)
    code = cuda.code(
        "cuGraphAddChildGraphNode", byref(node), graph.handle, c_void_p(), 0, own_graph
    )
    assert code == INVALID_VALUE
    assert graph.nodes() == []


def test_a_copy_of_freed_memory_is_refused(cuda, own, graph, memory, stream):
    other = cuda.alloc(64)
    graph.copy(memory, other, 64)
    ready = graph.instantiate()
    cuda.cuMemFree_v2(other)
    assert cuda.code("cuGraphLaunch", ready, stream) == INVALID_VALUE
    cuda.cuGraphExecDestroy(ready)


def test_a_dot_file_names_the_nodes(cuda, graph, memory, tmp_path):
    fill = graph.fill(memory, 1, 4)
    graph.launch("add1", 1, 4, c_uint64(memory), after=[fill])
    path = tmp_path / "graph.dot"
    cuda.cuGraphDebugDotPrint(graph.handle, str(path).encode(), 1)
    text = path.read_text()
    assert "digraph" in text and "add1" in text and "->" in text
