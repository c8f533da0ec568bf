"""Dependencies of a capture: what the driver reports, what a program sets, and their edges."""

from ctypes import byref, c_int, c_size_t, c_ubyte, c_uint64, c_void_p

import pytest
from driver_abi import *

from .captures import ACTIVE, RELAXED, SET_DEPENDENCIES, THREAD_LOCAL, end, nodes, streams

__all__ = ["streams"]


def test_a_program_sets_dependencies(cuda, kernel, streams):
    stream, now, number = streams(), c_int(), c_uint64()
    graph, before, count = c_void_p(), c_void_p(), c_size_t(9)
    cuda.cuStreamBeginCapture_v2(stream, THREAD_LOCAL)
    cuda.launch(kernel("empty"), 1, 1, stream=stream)
    ask = lambda: cuda.cuStreamGetCaptureInfo_v2(
        stream, byref(now), byref(number), byref(graph), byref(before), byref(count)
    )
    ask()
    assert (now.value, count.value) == (ACTIVE, 1) and number.value and graph.value
    node = c_void_p.from_address(before.value).value
    assert nodes(cuda, graph) == [node]
    none = (c_void_p * 1)()
    cuda.cuStreamUpdateCaptureDependencies(stream, none, 0, 1)  # from here on after nothing
    ask()
    assert count.value == 0
    cuda.launch(kernel("empty"), 1, 2, stream=stream)
    one = (c_void_p * 1)(node)
    cuda.cuStreamUpdateCaptureDependencies(stream, one, 1, 0)
    ask()
    assert count.value == 2
    code, made = end(cuda, stream)
    assert code == SUCCESS and made == graph.value
    cuda.cuGraphDestroy(made)


def capture_info(cuda, stream, edges=True):
    """The results of the call's version 3: status, nodes, and the bytes of each edge."""
    now, graph, nodes, data, count = c_int(-1), c_void_p(), c_void_p(), c_void_p(), c_size_t()
    cuda.cuStreamGetCaptureInfo_v3(
        stream, byref(now), None, byref(graph), byref(nodes), byref(data) if edges else None,
        byref(count),
    )  # fmt: skip
    found = list((c_void_p * count.value).from_address(nodes.value)) if count.value else []
    size = 8 * count.value
    properties = bytes((c_ubyte * size).from_address(data.value)) if size and edges else b""
    return now.value, found, [properties[at : at + 8] for at in range(0, len(properties), 8)]


@pytest.mark.parametrize("suffix", ["", "_ptsz"])
def test_dependencies_have_edge_data(cuda, kernel, streams, suffix):
    """Each edge has eight bytes of zeros, which mean a full dependency."""
    first, others, fork, join = streams(), [streams() for _ in range(3)], cuda.event(2), []
    cuda.cuStreamBeginCapture_v2(first, RELAXED)
    assert capture_info(cuda, first) == (ACTIVE, [], [])
    cuda.launch(kernel("empty"), 1, 1, stream=first)
    status, nodes, edges = capture_info(cuda, first)
    assert (status, len(nodes), edges) == (ACTIVE, 1, [bytes(8)])
    cuda.cuEventRecord(fork, first)
    for other in others:
        cuda.cuStreamWaitEvent(other, fork, 0)
        assert capture_info(cuda, other) == (ACTIVE, nodes, edges)
        cuda.launch(kernel("empty"), 1, 1, stream=other)
        join += capture_info(cuda, other)[1]
        event = cuda.event(2)
        cuda.cuEventRecord(event, other)
        cuda.cuStreamWaitEvent(first, event, 0)
        cuda.cuEventDestroy_v2(event)
    assert capture_info(cuda, first) == (ACTIVE, nodes + join, [bytes(8)] * 4)
    assert capture_info(cuda, first, edges=False) == (ACTIVE, nodes + join, [])
    handles = (c_void_p * 4)(*nodes, *join)
    update = f"cuStreamUpdateCaptureDependencies_v2{suffix}"
    cuda.code(update, first, handles, (c_uint64 * 4)(), 4, SET_DEPENDENCIES)
    assert capture_info(cuda, first)[1] == nodes + join
    cuda.launch(kernel("empty"), 1, 1, stream=first)
    assert len(capture_info(cuda, first)[1]) == 1
    count, graph = c_size_t(16), end(cuda, first)[1]
    start, finish, data = (c_void_p * 16)(), (c_void_p * 16)(), (c_uint64 * 16)(*[7] * 16)
    cuda.cuGraphGetEdges_v2(graph, start, finish, data, byref(count))
    assert count.value == 7 and list(data[:7]) == [0] * 7
    cuda.cuGraphDestroy(graph)
    cuda.cuEventDestroy_v2(fork)


def test_edge_data_needs_the_nodes(cuda, streams):
    stream, data, count = streams(), c_void_p(7), c_size_t(7)
    cuda.cuStreamBeginCapture_v2(stream, RELAXED)
    assert cuda.code(
        "cuStreamGetCaptureInfo_v3", stream, byref(c_int()), None, None, None, byref(data),
        byref(count),
    ) == INVALID_VALUE  # fmt: skip
    assert (data.value, count.value) == (7, 7)
