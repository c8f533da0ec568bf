"""Conditional nodes of graphs: bodies that run once, again, or by number."""

import ctypes
import os
import struct
from ctypes import byref, c_int, c_size_t, c_uint, c_uint64, c_void_p

import pytest
from driver_abi import *

from .conditions import CONDITIONAL, IF, SWITCH, WHILE, Body, graph
from .graphs import CHILD, HOST
from .node_params import Graph, params

__all__ = ["graph"]


@pytest.mark.parametrize(("value", "expected"), [(0, [2, 9]), (1, [1, 9]), (7, [1, 9])])
def test_if_runs_one_of_two_bodies(graph, value, expected):
    handle = graph.condition()
    chosen = graph.run_kernel(graph, "choose", c_uint64(handle), c_uint(value))
    node, (then, other) = graph.choice(graph, handle, IF, 2, [chosen])
    graph.note(then, 1)
    graph.note(other, 2)
    graph.note(graph, 9, [node])
    ready = graph.ready()
    for _ in range(2):
        graph.cuda.cuGraphLaunch(ready, 0)
        graph.cuda.cuCtxSynchronize()
        assert graph.noted() == expected
    graph.cuda.cuGraphExecDestroy(ready)


def test_if_without_else_runs_one_body_or_none(graph):
    handle = graph.condition(0)
    _, (then,) = graph.choice(graph, handle, IF)
    graph.note(then, 1)
    graph.run()
    assert graph.noted() == []


def test_each_launch_begins_with_the_default(graph):
    """A launch leaves zero in the condition."""
    handle = graph.condition(1)
    node, (then,) = graph.choice(graph, handle, IF)
    graph.note(then, 5)
    graph.run_kernel(graph, "choose", c_uint64(handle), c_uint(0), after=[node])
    ready = graph.ready()
    for _ in range(3):
        graph.cuda.cuGraphLaunch(ready, 0)
    graph.cuda.cuCtxSynchronize()
    assert graph.noted() == [5, 5, 5]
    graph.cuda.cuGraphExecDestroy(ready)


def test_a_condition_without_a_default_is_kept(graph):
    handle = graph.condition(1, flags=0)
    first = graph.run_kernel(graph, "choose", c_uint64(handle), c_uint(3))
    _, bodies = graph.choice(graph, handle, SWITCH, 4, [first])
    for n, body in enumerate(bodies):
        graph.note(body, n)
    graph.run()
    assert graph.noted() == [3]


@pytest.mark.parametrize("value", [0, 1, 2, 3, 4, 0xFFFFFFFF])
def test_switch_runs_the_body_of_the_number(graph, value):
    handle = graph.condition(value)
    node, bodies = graph.choice(graph, handle, SWITCH, 3)
    for n, body in enumerate(bodies):
        graph.note(body, 10 + n)
    graph.note(graph, 1, [node])
    graph.run()
    assert graph.noted() == ([10 + value] if value < 3 else []) + [1]


def test_while_may_contain_an_if(graph):
    """Counts down from six; where the count is two, copies and fills too."""
    cuda, word = graph.cuda, graph.cuda.alloc(16)
    cuda.cuMemsetD32_v2(word, 6, 1)
    again, once = graph.condition(1), None
    _, (loop,) = graph.choice(graph, again, WHILE)
    once = graph.condition(1, graph=loop.handle)
    counted = graph.run_kernel(loop, "less", c_uint64(word), c_uint64(again))
    noted = graph.note(loop, 4, [counted])
    inner, (then,) = graph.choice(loop, once, IF, 1, [noted])
    filled = then.fill(word + 4, 77, 1)
    copied = then.copy(word + 8, word + 4, 4, [filled])
    graph.note(then, 8, [copied])
    graph.run_kernel(loop, "choose", c_uint64(once), c_uint(0), after=[inner])
    graph.run()
    assert graph.noted() == [4, 8, 4, 4, 4, 4, 4]
    assert cuda.read(word, 3) == [0, 77, 77]
    cuda.cuMemFree_v2(word)


def test_a_body_is_captured(graph):
    cuda, word, stream = graph.cuda, graph.cuda.alloc(4), graph.cuda.stream(NON_BLOCKING)
    cuda.cuMemsetD32_v2(word, 3, 1)
    handle, out = graph.condition(1), c_void_p()
    _, (loop,) = graph.choice(graph, handle, WHILE)
    cuda.cuStreamBeginCaptureToGraph(stream, loop.handle, None, None, 0, 0)
    for name, arguments in [("less", (word, handle)), ("note", (graph.numbers, 6))]:
        last = c_uint if name == "note" else c_uint64
        cuda.launch(
            cuda.function(graph.module, name), 1, 32, c_uint64(arguments[0]), last(arguments[1]),
            stream=stream,
        )  # fmt: skip
    cuda.cuStreamEndCapture(stream, byref(out))
    assert out.value == loop.handle.value
    graph.run()
    assert graph.noted() == [6, 6, 6]
    cuda.cuStreamDestroy_v2(stream)
    cuda.cuMemFree_v2(word)


def test_a_capture_may_contain_a_condition(graph):
    """The node is added to the graph that a stream captures."""
    cuda, stream = graph.cuda, graph.cuda.stream(NON_BLOCKING)
    status, captured, before, count = c_int(), c_void_p(), c_void_p(), c_size_t()
    note = cuda.function(graph.module, "note")
    cuda.cuStreamBeginCapture_v2(stream, 0)
    cuda.launch(note, 1, 32, c_uint64(graph.numbers), c_uint(1), stream=stream)
    cuda.cuStreamGetCaptureInfo_v2(
        stream, byref(status), None, byref(captured), byref(before), byref(count)
    )
    handle = graph.condition(1, graph=captured)
    nodes = (c_void_p * count.value).from_address(before.value)
    inside = Body(graph, captured.value)
    node, (then,) = graph.choice(inside, handle, IF, 1, list(nodes))
    graph.note(then, 2)
    cuda.cuStreamUpdateCaptureDependencies(stream, byref(c_void_p(node)), c_size_t(1), c_uint(1))
    cuda.launch(note, 1, 32, c_uint64(graph.numbers), c_uint(3), stream=stream)
    cuda.cuStreamEndCapture(stream, byref(captured))
    inside.run()
    assert graph.noted() == [1, 2, 3]
    cuda.cuGraphDestroy(captured)
    cuda.cuStreamDestroy_v2(stream)


@pytest.mark.parametrize("kind", ["copy", "fill"])
@pytest.mark.parametrize("deep", [False, True])
def test_freed_memory_of_a_body_is_refused(graph, own, kind, deep):
    """The launch is refused as without a body, and the context stays valid."""
    cuda, word, source = graph.cuda, graph.cuda.alloc(64), graph.cuda.alloc(64)
    _, (then,) = graph.choice(graph, graph.condition(1), IF)
    if deep:
        _, (then,) = graph.choice(then, graph.condition(1, graph=then.handle), IF)
    if kind == "copy":
        then.copy(word, source, 64)
    else:
        then.fill(word, 7, 16)
    ready = graph.ready()
    cuda.cuGraphLaunch(ready, 0)
    cuda.cuMemFree_v2(word)
    assert cuda.code("cuGraphLaunch", ready, 0) == INVALID_VALUE
    cuda.cuCtxSynchronize()
    cuda.cuGraphExecDestroy(ready)
    cuda.cuMemFree_v2(source)


def test_a_second_instantiation_is_refused(graph, own):
    """Both would share the condition."""
    _, (then,) = graph.choice(graph, graph.condition(1), IF)
    graph.note(then, 5)
    graph.choice(then, graph.condition(1, graph=then.handle), IF)
    ready, code = graph.ready(), graph.cuda.code
    refused = code("cuGraphInstantiateWithFlags", byref(c_void_p()), graph.handle, 0)
    assert refused == NOT_SUPPORTED
    graph.cuda.cuGraphExecDestroy(ready)
    graph.run()
    assert graph.noted() == [5]


def test_kernels_of_bodies_are_changed_in_place(graph):
    handle = graph.condition(1)
    _, (then,) = graph.choice(graph, handle, IF)
    node = graph.note(then, 5)
    ready = graph.ready()
    other = Graph(graph.cuda)
    graph.run_kernel(other, "note", c_uint64(graph.numbers), c_uint(6))
    graph.cuda.cuGraphExecKernelNodeSetParams_v2(ready, c_void_p(node), byref(other.kept[-1]))
    graph.cuda.cuGraphLaunch(ready, 0)
    graph.cuda.cuCtxSynchronize()
    assert graph.noted() == [6]
    graph.cuda.cuGraphKernelNodeSetParams_v2(c_void_p(node), byref(other.kept[-1]))
    graph.cuda.cuGraphExecDestroy(ready)
    graph.run()
    assert graph.noted() == [6]
    graph.cuda.cuGraphDestroy(other.handle)


def code_of(graph, handle, kind, size):
    data = params(CONDITIONAL, struct.pack("QiIQQ", handle, kind, size, 0, graph.context))
    return graph.cuda.code(
        "cuGraphAddNode_v2", byref(c_void_p()), graph.handle, None, None, 0, byref(data)
    )


def test_misuse_of_conditions_is_refused(graph):
    cuda, handle = graph.cuda, graph.condition()
    assert code_of(graph, handle, IF, 0) == code_of(graph, handle, IF, 3) == INVALID_VALUE
    assert code_of(graph, handle, WHILE, 2) == code_of(graph, handle, SWITCH, 0) == INVALID_VALUE
    assert code_of(graph, handle, 3, 1) == INVALID_VALUE
    node, (then,) = graph.choice(graph, handle, IF)
    assert code_of(graph, handle, IF, 1) == INVALID_VALUE  # a condition is one node's
    kind = c_int()
    cuda.cuGraphNodeGetType(c_void_p(node), byref(kind))
    assert kind.value == CONDITIONAL
    assert cuda.code("cuGraphDestroy", then.handle) == INVALID_VALUE
    assert cuda.code("cuGraphClone", byref(c_void_p()), graph.handle) != SUCCESS
    whole = Graph(cuda)
    given = params(CHILD, struct.pack("Q", graph.handle.value))
    assert (
        cuda.code("cuGraphAddNode_v2", byref(c_void_p()), whole.handle, None, None, 0, byref(given))
        != SUCCESS
    )
    cuda.cuGraphDestroy(whole.handle)


def test_a_host_function_in_a_body_is_refused(graph):
    """cuda.h lists the allowed nodes; NVIDIA's driver refuses others at the instantiation."""
    _, (then,) = graph.choice(graph, graph.condition(1), IF)
    function = HostFunction(lambda _: None)
    then.add(HOST, struct.pack("QQ", ctypes.cast(function, c_void_p).value, 0))
    code = graph.cuda.code("cuGraphInstantiateWithFlags", byref(c_void_p()), graph.handle, 0)
    assert code == INVALID_VALUE


def test_a_dot_file_shows_bodies(graph, tmp_path):
    _, (then,) = graph.choice(graph, graph.condition(1), IF)
    graph.note(then, 1)
    path = tmp_path / "graph.dot"
    graph.cuda.cuGraphDebugDotPrint(graph.handle, os.fsencode(path), 0)
    assert "note" in path.read_text()


ENDS = """
from cpu.conditions import *
module, numbers = cuda.module(TEXT.encode() + b"\\0"), cuda.alloc(64)
cuda.cuMemsetD32_v2(numbers, 0, 1)
graph = Conditions(cuda, module, numbers)
handle = graph.condition(1)
_, (loop,) = graph.choice(graph, handle, WHILE)
"""


def test_a_fault_ends_a_loop(passes, own):
    passes(
        ENDS
        + """
graph.run_kernel(loop, "fault")
ready = graph.ready()
cuda.cuGraphLaunch(ready, 0)
assert cuda.code("cuCtxSynchronize") == ILLEGAL_ADDRESS
"""
    )


def test_a_handle_that_is_no_condition_is_a_fault(passes, own):
    passes(
        ENDS
        + """
cuda.launch(cuda.function(module, "choose"), 1, 1, c_uint64(numbers), c_uint(1))
assert cuda.code("cuCtxSynchronize") == ILLEGAL_ADDRESS
"""
    )


def test_an_endless_loop_ends_with_its_context(passes, own):
    passes(
        """
context = c_void_p()
cuda.cuCtxCreate_v2(byref(context), 0, 0)
"""
        + ENDS
        + """
graph.run_kernel(loop, "choose", c_uint64(handle), c_uint(1))
ready = graph.ready()
cuda.cuGraphLaunch(ready, 0)
cuda.cuCtxDestroy_v2(context)
"""
    )


def test_a_handle_may_be_of_any_graph_of_the_same_root(graph):
    """A handle may be of the outermost graph, of a sibling, or of a graph further inside."""
    cuda, word = graph.cuda, graph.cuda.alloc(16)
    cuda.cuMemsetD32_v2(word, 0, 4)
    outer, inner, deepest = (graph.condition(1) for _ in range(3))
    _, (then,) = graph.choice(graph, outer, IF)
    _, (second,) = graph.choice(then, inner, IF)
    _, (third,) = graph.choice(second, deepest, IF)
    of_body = graph.condition(1, graph=third.handle)
    _, (last,) = graph.choice(graph, of_body, IF)
    for n, body in enumerate((then, second, third, last)):
        body.fill(word + 4 * n, n + 1, 1)
    graph.run()
    assert cuda.read(word, 4) == [1, 2, 3, 4]
    stranger = Graph(cuda)
    foreign = graph.condition(1, graph=stranger.handle)
    assert code_of(graph, foreign, IF, 1) == INVALID_VALUE
    cuda.cuGraphDestroy(stranger.handle)
    cuda.cuMemFree_v2(word)


def test_a_handle_needs_a_node(graph):
    graph.condition(1)
    assert graph.cuda.code(
        "cuGraphInstantiateWithFlags", byref(c_void_p()), graph.handle, 0
    ) == INVALID_VALUE  # fmt: skip
