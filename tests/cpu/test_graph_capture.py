"""Stream capture: what becomes a node, forks and joins, and what spoils it."""

import threading
from ctypes import byref, c_int, c_size_t, c_ubyte, c_uint, c_uint64, c_void_p

import pytest
from driver_abi import *

from .test_graph import CHILD, COPY, FILL, HOST, KERNEL

GLOBAL, THREAD_LOCAL, RELAXED = range(3)
NONE, ACTIVE, INVALIDATED = range(3)
ILLEGAL_STATE, UNSUPPORTED, SPOILED, MERGE, UNMATCHED, UNJOINED = 401, 900, 901, 902, 903, 904
ISOLATION, IMPLICIT, CAPTURED_EVENT, WRONG_THREAD = 905, 906, 907, 908
SET_DEPENDENCIES = 1


@pytest.fixture
def streams(cuda):
    made = []

    def make(flags=NON_BLOCKING):
        made.append(cuda.stream(flags))
        return made[-1]

    yield make
    for stream in made:
        cuda.code("cuStreamEndCapture", stream, byref(c_void_p()))
        cuda.cuStreamDestroy_v2(stream)


@pytest.fixture
def memory(cuda):
    pointer = cuda.alloc(4096)
    cuda.cuMemsetD32_v2(pointer, 0, 1024)
    cuda.cuCtxSynchronize()
    yield pointer
    cuda.cuMemFree_v2(pointer)


def end(cuda, stream):
    graph = c_void_p()
    return cuda.code("cuStreamEndCapture", stream, byref(graph)), graph.value


def status(cuda, stream):
    now = c_int(-1)
    cuda.cuStreamIsCapturing(stream, byref(now))
    return now.value


def nodes(cuda, graph):
    count = c_size_t()
    cuda.cuGraphGetNodes(graph, c_void_p(), byref(count))
    found = (c_void_p * count.value)()
    cuda.cuGraphGetNodes(graph, found, byref(count))
    return list(found)


def types(cuda, graph):
    kind, found = c_int(), []
    for node in nodes(cuda, graph):
        cuda.cuGraphNodeGetType(node, byref(kind))
        found.append(kind.value)
    return found


def launch(cuda, graph, stream, times=1):
    ready = c_void_p()
    cuda.cuGraphInstantiateWithFlags(byref(ready), graph, 0)
    for _ in range(times):
        cuda.cuGraphLaunch(ready, stream)
    cuda.cuStreamSynchronize(stream)
    cuda.cuGraphExecDestroy(ready)


def test_what_is_captured_runs_when_it_is_launched(cuda, kernel, streams, memory):
    stream, seen = streams(), []
    call = HostFunction(seen.append)
    cuda.cuStreamBeginCapture_v2(stream, THREAD_LOCAL)
    assert status(cuda, stream) == ACTIVE
    cuda.cuMemsetD32Async(memory, 2, 64, stream)
    cuda.launch(kernel("add1"), 2, 32, c_uint64(memory), stream=stream)
    cuda.cuMemcpyDtoDAsync_v2(memory + 1024, memory, 256, stream)
    cuda.cuLaunchHostFunc(stream, call, 4)
    code, graph = end(cuda, stream)
    assert code == SUCCESS and status(cuda, stream) == NONE
    assert types(cuda, graph) == [FILL, KERNEL, COPY, HOST]
    assert seen == [] and cuda.read(memory, 64) == [0] * 64
    launch(cuda, graph, stream, 3)
    assert seen == [4, 4, 4] and cuda.read(memory + 1024, 64) == [3] * 64
    cuda.cuGraphDestroy(graph)


def test_fork_and_join(cuda, kernel, streams, memory):
    first, second, fork, join = streams(), streams(), cuda.event(2), cuda.event(2)
    cuda.cuStreamBeginCapture_v2(first, THREAD_LOCAL)
    cuda.launch(kernel("store"), 1, 32, c_uint64(memory), c_uint(5), stream=first)
    cuda.cuEventRecord(fork, first)
    cuda.cuStreamWaitEvent(second, fork, 0)
    assert status(cuda, second) == ACTIVE
    cuda.launch(kernel("add1"), 1, 16, c_uint64(memory), stream=second)
    cuda.launch(kernel("add1"), 1, 16, c_uint64(memory + 64), stream=first)
    cuda.cuEventRecord(join, second)
    cuda.cuStreamWaitEvent(first, join, 0)
    cuda.launch(kernel("add1"), 1, 32, c_uint64(memory), stream=first)
    code, graph = end(cuda, first)
    assert code == SUCCESS and status(cuda, second) == NONE
    store, left, right, both = nodes(cuda, graph)
    count = c_size_t(8)
    start, finish = (c_void_p * 8)(), (c_void_p * 8)()
    cuda.cuGraphGetEdges(graph, start, finish, byref(count))
    found = set(list(zip(start, finish, strict=True))[: count.value])
    assert found == {(store, left), (store, right), (left, both), (right, both)}
    launch(cuda, graph, first, 2)
    assert cuda.read(memory, 32) == [7] * 32
    cuda.cuGraphDestroy(graph)


@pytest.mark.parametrize("where, code", [("origin", UNJOINED), ("fork", SPOILED)])
def test_a_fork_that_is_not_joined(cuda, kernel, streams, where, code):
    first, second, fork = streams(), streams(), cuda.event(2)
    cuda.cuStreamBeginCapture_v2(first, THREAD_LOCAL)
    cuda.launch(kernel("empty"), 1, 1, stream=first)
    cuda.cuEventRecord(fork, first)
    cuda.cuStreamWaitEvent(second, fork, 0)
    cuda.launch(kernel("empty"), 1, 1, stream=second)
    if where == "fork":  # which ends nothing, and spoils it
        assert end(cuda, second)[0] == UNMATCHED
    assert end(cuda, first) == (code, None)
    assert status(cuda, first) == status(cuda, second) == NONE
    cuda.launch(kernel("empty"), 1, 1, stream=second)
    cuda.cuStreamSynchronize(second)


@pytest.mark.parametrize(
    "call, code",
    [
        (lambda cuda, stream: cuda.code("cuStreamSynchronize", stream), UNSUPPORTED),
        (lambda cuda, stream: cuda.code("cuStreamQuery", stream), UNSUPPORTED),
        (lambda cuda, stream: cuda.code("cuMemAlloc_v2", byref(c_uint64()), 64), UNSUPPORTED),
        (lambda cuda, stream: cuda.code("cuCtxSynchronize"), UNSUPPORTED),
    ],
    ids=["synchronize", "query", "allocate", "context"],
)
def test_what_spoils_a_capture(cuda, kernel, streams, call, code):
    stream = streams()
    cuda.cuStreamBeginCapture_v2(stream, THREAD_LOCAL)
    assert call(cuda, stream) == code
    assert status(cuda, stream) == INVALIDATED
    assert cuda.launch_code(kernel("empty"), 1, 1, stream=stream) == SPOILED
    assert end(cuda, stream) == (SPOILED, None)
    assert status(cuda, stream) == NONE
    cuda.launch(kernel("empty"), 1, 1, stream=stream)
    cuda.cuStreamSynchronize(stream)


def test_the_legacy_stream_while_a_blocking_one_captures(cuda, kernel, streams):
    blocking, free = streams(0), streams()
    cuda.cuStreamBeginCapture_v2(free, RELAXED)
    cuda.launch(kernel("empty"), 1, 1)  # is no matter of a stream that does not block
    code, graph = end(cuda, free)
    assert code == SUCCESS
    cuda.cuGraphDestroy(graph)
    cuda.cuStreamBeginCapture_v2(blocking, RELAXED)
    assert cuda.launch_code(kernel("empty"), 1, 1) == IMPLICIT
    assert end(cuda, blocking) == (SPOILED, None)


def test_events_from_outside_and_inside(cuda, kernel, streams):
    first, other = streams(), streams()
    outside, inside = cuda.event(2), cuda.event(2)
    cuda.cuEventRecord(outside, other)
    cuda.cuStreamBeginCapture_v2(first, RELAXED)
    assert cuda.code("cuStreamWaitEvent", first, outside, 0) == ISOLATION
    assert end(cuda, first) == (SPOILED, None)
    cuda.cuStreamBeginCapture_v2(first, RELAXED)
    cuda.launch(kernel("empty"), 1, 1, stream=first)
    cuda.cuEventRecord(inside, first)
    assert cuda.code("cuEventQuery", inside) == CAPTURED_EVENT
    code, graph = end(cuda, first)
    if not cuda.on_hardware:  # asking spoils it, by the programming guide
        assert (code, graph) == (SPOILED, None)
    if graph:
        cuda.cuGraphDestroy(graph)


@pytest.mark.parametrize("asked", [False, True])
def test_captures_do_not_merge(cuda, kernel, streams, asked):
    first, second, inside = streams(), streams(), cuda.event(2)
    cuda.cuStreamBeginCapture_v2(first, RELAXED)
    cuda.cuStreamBeginCapture_v2(second, RELAXED)
    cuda.launch(kernel("empty"), 1, 1, stream=first)
    cuda.cuEventRecord(inside, first)
    if asked:  # then it is an event of a capture that came to nothing
        assert cuda.code("cuEventQuery", inside) == CAPTURED_EVENT
    code = cuda.code("cuStreamWaitEvent", second, inside, 0)
    # The documentation says when it is MERGE; the driver is known to say INVALID_VALUE too.
    assert code in (
        (MERGE, INVALID_VALUE) if cuda.on_hardware else (INVALID_VALUE if asked else MERGE,)
    )
    if not cuda.on_hardware:
        assert end(cuda, second) == (SPOILED, None)


def test_states(cuda, streams):
    stream = streams()
    assert end(cuda, stream)[0] == ILLEGAL_STATE
    assert cuda.code("cuStreamBeginCapture_v2", LEGACY, THREAD_LOCAL) == UNSUPPORTED
    cuda.cuStreamBeginCapture_v2(stream, THREAD_LOCAL)
    assert cuda.code("cuStreamBeginCapture_v2", stream, THREAD_LOCAL) == ILLEGAL_STATE


def test_only_its_thread_ends_a_capture(cuda, kernel, streams):
    stream, context, results = streams(), c_void_p(), []
    cuda.cuCtxGetCurrent(byref(context))

    def other():
        cuda.cuCtxSetCurrent(context)
        results.append(end(cuda, stream)[0])

    for mode in (THREAD_LOCAL, RELAXED):
        cuda.cuStreamBeginCapture_v2(stream, mode)
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        end(cuda, stream)
    assert results == [WRONG_THREAD, SUCCESS]


def test_modes_of_other_threads(cuda, streams):
    """What another thread may do while this one captures."""
    stream, context, results = streams(), c_void_p(), []
    cuda.cuCtxGetCurrent(byref(context))

    def other():
        cuda.cuCtxSetCurrent(context)
        pointer = c_uint64()
        results.append(cuda.code("cuMemAlloc_v2", byref(pointer), 64))
        if pointer.value:
            cuda.code("cuMemFree_v2", pointer)

    for mode in (THREAD_LOCAL, GLOBAL):
        cuda.cuStreamBeginCapture_v2(stream, mode)
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        code, graph = end(cuda, stream)
        results.append(code)
        if graph:
            cuda.cuGraphDestroy(graph)
    assert results[1] == SUCCESS and results[0] == SUCCESS
    assert results[2:] == [UNSUPPORTED, SPOILED]


def test_a_relaxed_thread_may_allocate(cuda, streams):
    stream, mode, pointer = streams(), c_int(RELAXED), c_uint64()
    cuda.cuStreamBeginCapture_v2(stream, THREAD_LOCAL)
    cuda.cuThreadExchangeStreamCaptureMode(byref(mode))
    assert mode.value == GLOBAL
    cuda.cuMemAlloc_v2(byref(pointer), 64)
    cuda.cuThreadExchangeStreamCaptureMode(byref(mode))
    assert mode.value == RELAXED
    code, graph = end(cuda, stream)
    assert code == SUCCESS
    cuda.cuGraphDestroy(graph)
    cuda.cuMemFree_v2(pointer)


def test_info_and_own_dependencies(cuda, kernel, streams):
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


def test_what_is_ready_is_no_part_of_a_capture(cuda, kernel, streams, memory):
    """Its graph is, by the two calls that every driver has for it."""
    stream, ready, now, number = streams(), c_void_p(), c_int(), c_uint64()
    cuda.cuStreamBeginCapture_v2(stream, THREAD_LOCAL)
    cuda.launch(kernel("add1"), 1, 32, c_uint64(memory), stream=stream)
    _, inner = end(cuda, stream)
    cuda.cuGraphInstantiateWithFlags(byref(ready), inner, 0)
    cuda.cuStreamBeginCapture_v2(stream, THREAD_LOCAL)
    assert cuda.code("cuGraphLaunch", ready, stream) == UNSUPPORTED
    _, left = end(cuda, stream)
    if left:
        cuda.cuGraphDestroy(left)
    cuda.cuStreamBeginCapture_v2(stream, THREAD_LOCAL)
    for _ in range(2):
        into, before, count, node = c_void_p(), c_void_p(), c_size_t(), c_void_p()
        cuda.cuStreamGetCaptureInfo_v2(
            stream, byref(now), byref(number), byref(into), byref(before), byref(count)
        )
        cuda.cuGraphAddChildGraphNode(byref(node), into, before, count, inner)
        cuda.cuStreamUpdateCaptureDependencies(stream, byref(node), 1, SET_DEPENDENCIES)
    code, outer = end(cuda, stream)
    assert code == SUCCESS and types(cuda, outer) == [CHILD, CHILD]
    launch(cuda, outer, stream)
    assert cuda.read(memory, 32) == [2] * 32
    for graph in (inner, outer):
        cuda.cuGraphDestroy(graph)
    cuda.cuGraphExecDestroy(ready)


def test_a_stream_that_is_destroyed_while_it_captures(cuda, own, kernel):
    stream, other = cuda.stream(NON_BLOCKING), cuda.stream(NON_BLOCKING)
    cuda.cuStreamBeginCapture_v2(stream, GLOBAL)
    cuda.cuStreamDestroy_v2(stream)
    cuda.cuMemFree_v2(cuda.alloc(64))  # nothing captures any more
    cuda.cuStreamSynchronize(other)
    cuda.cuStreamDestroy_v2(other)


def test_nodes_stay_while_a_capture_goes_on(cuda, own, kernel, streams, memory):
    """CUDA forbids to remove one meanwhile, and leaves open what comes of it."""
    stream, graph, first, second = streams(), c_void_p(), c_void_p(), c_void_p()
    cuda.cuGraphCreate(byref(graph), 0)
    cuda.cuGraphAddEmptyNode(byref(first), graph, c_void_p(), 0)
    cuda.cuGraphAddEmptyNode(byref(second), graph, c_void_p(), 0)
    cuda.cuStreamBeginCaptureToGraph(stream, graph, byref(first), c_void_p(), 1, THREAD_LOCAL)
    for node in (first, second):
        assert cuda.code("cuGraphDestroyNode", node) == INVALID_VALUE
    cuda.launch(kernel("add1"), 1, 32, c_uint64(memory), stream=stream)
    assert end(cuda, stream) == (SUCCESS, graph.value)
    cuda.cuGraphDestroyNode(second)
    cuda.cuGraphDestroyNode(first)
    launch(cuda, graph, stream)
    assert cuda.read(memory, 32) == [1] * 32
    cuda.cuGraphDestroy(graph)


def capture_info(cuda, stream, edges=True):
    """What version 3 of the call says: status, nodes, and the bytes of each edge."""
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
def test_dependencies_come_with_their_edges(cuda, kernel, streams, suffix):
    """Each has eight bytes, of zeros: the edges of a full dependency."""
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


def test_edges_are_not_told_without_their_nodes(cuda, streams):
    stream, data, count = streams(), c_void_p(7), c_size_t(7)
    cuda.cuStreamBeginCapture_v2(stream, RELAXED)
    assert cuda.code(
        "cuStreamGetCaptureInfo_v3", stream, byref(c_int()), None, None, None, byref(data),
        byref(count),
    ) == INVALID_VALUE  # fmt: skip
    assert (data.value, count.value) == (7, 7)


@pytest.mark.parametrize(
    "steps, code",
    [
        ("work, record, wait", SUCCESS),
        ("", SUCCESS),
        ("work", UNJOINED),
        ("work, record, wait, work", UNJOINED),
    ],
)
def test_a_forked_stream_may_be_destroyed(cuda, kernel, streams, steps, code):
    """What it was given has to be joined, as ever; that it is gone spoils nothing."""
    origin, fork, event, join = streams(), cuda.stream(NON_BLOCKING), cuda.event(2), cuda.event(2)
    cuda.cuStreamBeginCapture_v2(origin, GLOBAL)
    cuda.launch(kernel("empty"), 1, 1, stream=origin)
    cuda.cuEventRecord(event, origin)
    cuda.cuStreamWaitEvent(fork, event, 0)
    for step in steps.split(", ") if steps else ():
        if step == "work":
            cuda.launch(kernel("empty"), 1, 1, stream=fork)
        elif step == "record":
            cuda.cuEventRecord(join, fork)
        else:
            cuda.cuStreamWaitEvent(origin, join, 0)
    cuda.cuStreamDestroy_v2(fork)
    assert status(cuda, origin) == ACTIVE
    cuda.launch(kernel("empty"), 1, 1, stream=origin)
    found, graph = end(cuda, origin)
    assert found == code and (graph is None) == (code != SUCCESS)
    if graph:
        cuda.cuGraphDestroy(graph)
    for each in (event, join):
        cuda.cuEventDestroy_v2(each)


def test_a_forked_stream_may_be_destroyed_before_it_is_joined(cuda, kernel, streams, memory):
    origin, fork, event, join = streams(), cuda.stream(NON_BLOCKING), cuda.event(2), cuda.event(2)
    cuda.cuStreamBeginCapture_v2(origin, GLOBAL)
    cuda.cuEventRecord(event, origin)
    cuda.cuStreamWaitEvent(fork, event, 0)
    cuda.cuMemsetD32Async(memory, 8, 16, fork)
    cuda.cuEventRecord(join, fork)
    cuda.cuStreamDestroy_v2(fork)
    cuda.cuStreamWaitEvent(origin, join, 0)
    cuda.launch(kernel("add1"), 1, 16, c_uint64(memory), stream=origin)
    code, graph = end(cuda, origin)
    assert code == SUCCESS
    launch(cuda, graph, origin)
    assert cuda.read(memory, 16) == [9] * 16
    cuda.cuGraphDestroy(graph)
    for each in (event, join):
        cuda.cuEventDestroy_v2(each)
