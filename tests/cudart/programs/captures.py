"""Captures of streams."""

from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p

from driver_abi import HostFunction

from cudart.graph_structures import GraphEdgeData
from cudart.memory_structures import Copy
from cudart.runtime import DEVICE_TO_DEVICE, LEGACY, PER_THREAD

GLOBAL, THREAD_LOCAL, RELAXED = range(3)
NO_TIMING = 2


def _stream(runtime):
    return runtime.handle("cudaStreamCreateWithFlags", 1)


def _end(runtime, stream):
    graph = c_void_p(1)
    runtime.cudaStreamEndCapture(stream, byref(graph))
    runtime.note("a graph", bool(graph.value))
    return graph.value or 0


def _status(runtime, stream):
    status = c_int(9)
    runtime.cudaStreamIsCapturing(stream, byref(status))
    runtime.note("status", status.value)


def _info(runtime, stream):
    """The status, whether there are an id and a graph, and the dependencies."""
    status, ident, graph, before = c_int(9), c_uint64(), c_void_p(), c_void_p()
    count, edges = c_size_t(99), c_void_p()
    if runtime.major == 12:
        runtime.cudaStreamGetCaptureInfo(stream, byref(status), byref(ident))
        runtime.note("info", [status.value, bool(ident.value)])
        runtime.cudaStreamGetCaptureInfo_v2(
            stream, byref(status), byref(ident), byref(graph), byref(before), byref(count)
        )
        runtime.note("info", [status.value, bool(ident.value), bool(graph.value), count.value])
        name = "cudaStreamGetCaptureInfo_v3"
    else:
        name = "cudaStreamGetCaptureInfo"
    getattr(runtime, name)(
        stream,
        byref(status),
        byref(ident),
        byref(graph),
        byref(before),
        byref(edges),
        byref(count),
    )
    runtime.note("info", [status.value, bool(ident.value), bool(graph.value), count.value])
    found = (c_void_p * count.value).from_address(before.value) if before.value else []
    return graph.value or 0, list(found)


def _types(runtime, graph):
    count, nodes = c_size_t(16), (c_void_p * 16)()
    runtime.cudaGraphGetNodes(graph, nodes, byref(count))
    kinds = []
    for node in nodes[: count.value]:
        kind = c_int()
        runtime.cudaGraphNodeGetType(node, byref(kind))
        kinds.append(kind.value)
    return sorted(kinds)


def _launch(runtime, graph, stream):
    exec_ = runtime.handle("cudaGraphInstantiate", graph, 0)
    runtime.cudaGraphLaunch(exec_, stream)
    runtime.cudaStreamSynchronize(stream)
    runtime.cudaGraphExecDestroy(exec_)


def work_becomes_nodes(runtime):
    numbers, others = runtime.upload([1, 2, 3, 4]), runtime.upload([0] * 4)
    add1, called = runtime.kernel("add1"), []
    call, stream = HostFunction(called.append), _stream(runtime)
    for mode in (GLOBAL, THREAD_LOCAL, RELAXED):
        runtime.cudaStreamBeginCapture(stream, mode)
        _status(runtime, stream)
        runtime.launch(add1, (1, 1, 1), (4, 1, 1), [c_uint64(numbers)], stream=stream)
        runtime.cudaMemcpyAsync(others, numbers, 16, DEVICE_TO_DEVICE, stream)
        runtime.cudaMemsetAsync(numbers, 0, 4, stream)
        runtime.cudaLaunchHostFunc(stream, call, 5)
        _info(runtime, stream)
        graph = _end(runtime, stream)
        _status(runtime, stream)
        runtime.note("types", _types(runtime, graph))
        _launch(runtime, graph, stream)
        runtime.note("numbers", [runtime.ints(numbers, 4), runtime.ints(others, 4), called[:]])
        runtime.cudaGraphDestroy(graph)


def parameters_of_captured_nodes(runtime):
    """They are in the terms of the runtime."""
    numbers, others = runtime.upload([1, 2, 3, 4]), runtime.upload([0] * 4)
    add1, stream = runtime.kernel("add1"), _stream(runtime)
    runtime.cudaStreamBeginCapture(stream, RELAXED)
    runtime.launch(add1, (1, 1, 1), (4, 1, 1), [c_uint64(numbers)], stream=stream)
    _, kernels = _info(runtime, stream)
    runtime.cudaMemcpyAsync(others, numbers, 16, DEVICE_TO_DEVICE, stream)
    _, copies = _info(runtime, stream)
    graph = _end(runtime, stream)
    first = (c_uint64 * 8)()  # cudaKernelNodeParams, which starts with the function
    runtime.cudaGraphKernelNodeGetParams(kernels[0], first)
    runtime.note("the kernel", first[0] == add1)
    runtime.cudaGraphKernelNodeSetParams(kernels[0], first)
    copy = Copy()
    runtime.cudaGraphMemcpyNodeGetParams(copies[0], byref(copy))
    runtime.note("the pointers", [copy.source.pointer == numbers, copy.target.pointer == others])
    runtime.note("extent", [copy.extent.width, copy.extent.height, copy.extent.depth])
    runtime.cudaGraphMemcpyNodeSetParams(copies[0], byref(copy))
    _launch(runtime, graph, stream)
    runtime.note("numbers", runtime.ints(others, 4))


def a_fork_and_a_join(runtime):
    numbers = runtime.upload([0] * 8)
    add1, first, second = runtime.kernel("add1"), _stream(runtime), _stream(runtime)
    fork, join = (runtime.handle("cudaEventCreateWithFlags", NO_TIMING) for _ in range(2))
    runtime.cudaStreamBeginCapture(first, GLOBAL)
    runtime.launch(add1, (2, 1, 1), (4, 1, 1), [c_uint64(numbers)], stream=first)
    runtime.cudaEventRecord(fork, first)
    runtime.cudaStreamWaitEvent(second, fork, 0)
    _status(runtime, second)
    runtime.launch(add1, (1, 1, 1), (4, 1, 1), [c_uint64(numbers + 16)], stream=second)
    runtime.launch(add1, (1, 1, 1), (4, 1, 1), [c_uint64(numbers)], stream=first)
    runtime.cudaEventRecord(join, second)
    runtime.cudaStreamWaitEvent(first, join, 0)
    _info(runtime, first)
    runtime.cudaStreamDestroy(second)
    _status(runtime, first)
    runtime.launch(add1, (2, 1, 1), (4, 1, 1), [c_uint64(numbers)], stream=first)
    graph = _end(runtime, first)
    _launch(runtime, graph, first)
    runtime.note("numbers", runtime.ints(numbers, 8))


def a_fork_without_a_join(runtime):
    first, second = _stream(runtime), _stream(runtime)
    numbers = runtime.upload([0] * 4)
    fork = runtime.handle("cudaEventCreateWithFlags", NO_TIMING)
    runtime.cudaStreamBeginCapture(first, GLOBAL)
    runtime.cudaEventRecord(fork, first)
    runtime.cudaStreamWaitEvent(second, fork, 0)
    runtime.cudaMemsetAsync(numbers, 0, 4, second)
    _end(runtime, second)
    _end(runtime, first)
    _status(runtime, first)
    _status(runtime, second)
    runtime.cudaGetLastError()


def into_a_graph(runtime):
    numbers, stream = runtime.upload([0] * 4), _stream(runtime)
    graph = runtime.handle("cudaGraphCreate", 0)
    first = runtime.handle("cudaGraphAddEmptyNode", graph, None, 0)
    after = byref(c_void_p(first))
    runtime.cudaStreamBeginCaptureToGraph(stream, graph, after, None, 1, THREAD_LOCAL)
    runtime.cudaMemsetAsync(numbers, 1, 16, stream)
    same, _ = _info(runtime, stream)
    runtime.note("the graph", same == graph)
    runtime.note("the graph", _end(runtime, stream) == graph)
    runtime.note("types", _types(runtime, graph))
    edge = GraphEdgeData()
    runtime.cudaStreamBeginCaptureToGraph_ptsz(stream, graph, after, byref(edge), 1, RELAXED)
    runtime.cudaMemsetAsync(numbers + 4, 2, 4, stream)
    runtime.note("the graph", _end(runtime, stream) == graph)
    runtime.cudaStreamBeginCaptureToGraph(stream, 0, None, None, 0, RELAXED)
    runtime.cudaStreamBeginCaptureToGraph(stream, graph, None, None, 1, RELAXED)
    runtime.cudaStreamBeginCaptureToGraph(stream, graph, None, None, 0, 9)
    runtime.cudaStreamBeginCaptureToGraph(LEGACY, graph, None, None, 0, RELAXED)
    runtime.note("types", _types(runtime, graph))


def dependencies_are_changed(runtime):
    numbers, stream = runtime.upload([0] * 4), _stream(runtime)
    plain = runtime.major == 12
    runtime.cudaStreamBeginCapture(stream, RELAXED)
    runtime.cudaMemsetAsync(numbers, 1, 4, stream)
    graph, before = _info(runtime, stream)
    extra = runtime.handle("cudaGraphAddEmptyNode", graph, None, 0)
    one, none = byref(c_void_p(extra)), () if plain else (None,)
    runtime.cudaStreamUpdateCaptureDependencies(stream, one, *none, 1, 0)
    _info(runtime, stream)
    runtime.cudaStreamUpdateCaptureDependencies(stream, one, *none, 1, 1)
    _, now = _info(runtime, stream)
    runtime.note("the node", now == [extra])
    runtime.cudaStreamUpdateCaptureDependencies(stream, None, *none, 0, 1)
    _info(runtime, stream)
    name = "cudaStreamUpdateCaptureDependencies" + ("_v2" if plain else "")
    edge = GraphEdgeData()
    getattr(runtime, name)(stream, byref(c_void_p(before[0])), byref(edge), 1, 0)
    _info(runtime, stream)
    runtime.cudaStreamUpdateCaptureDependencies(stream, one, *none, 1, 7)
    runtime.cudaStreamUpdateCaptureDependencies(stream, None, *none, 1, 0)
    _status(runtime, stream)
    _end(runtime, stream)
    runtime.cudaStreamUpdateCaptureDependencies(stream, one, *none, 1, 0)


def the_wrong_order(runtime):
    stream, graph = _stream(runtime), c_void_p()
    runtime.cudaStreamEndCapture(stream, byref(graph))
    runtime.cudaStreamBeginCapture(stream, 9)
    runtime.cudaStreamBeginCapture(LEGACY, RELAXED)
    runtime.cudaStreamBeginCapture(0, RELAXED)
    runtime.cudaStreamBeginCapture(stream, THREAD_LOCAL)
    runtime.cudaStreamBeginCapture(stream, THREAD_LOCAL)
    _end(runtime, stream)
    runtime.cudaStreamIsCapturing(stream, None)
    nothing = (None,) * (4 if runtime.major == 13 else 0)
    if runtime.major == 12:
        runtime.cudaStreamGetCaptureInfo_v2(stream, None, None, None, None, None)
        runtime.cudaStreamGetCaptureInfo_v3(stream, None, None, None, None, None, None)
    runtime.cudaStreamGetCaptureInfo(stream, None, None, *nothing)
    _info(runtime, stream)
    _status(runtime, 0)
    runtime.cudaGetLastError()


def what_a_capture_forbids(runtime):
    stream = _stream(runtime)
    for call in (
        lambda: runtime.cudaStreamSynchronize(stream),
        lambda: runtime.cudaDeviceSynchronize(),
        lambda: runtime.cudaMalloc(byref(c_void_p()), 16),
    ):
        runtime.cudaStreamBeginCapture(stream, GLOBAL)
        call()
        _status(runtime, stream)
        _info(runtime, stream)
        _end(runtime, stream)
        runtime.cudaGetLastError()


def modes_of_a_thread(runtime):
    for mode in (RELAXED, THREAD_LOCAL, GLOBAL):
        before = c_int(mode)
        runtime.cudaThreadExchangeStreamCaptureMode(byref(before))
        runtime.note("mode before", before.value)
    runtime.cudaThreadExchangeStreamCaptureMode(byref(c_int(7)))


def a_null_mode_crashes(runtime):
    runtime.cudaThreadExchangeStreamCaptureMode(None)


def captures_of_the_thread_stream(runtime):
    numbers, graph, status = runtime.upload([0] * 4), c_void_p(), c_int(9)
    runtime.cudaStreamBeginCapture_ptsz(0, RELAXED)
    runtime.cudaMemsetAsync(numbers, 1, 16, PER_THREAD)
    runtime.cudaStreamIsCapturing_ptsz(0, byref(status))
    runtime.note("status", status.value)
    rest = (None,) * (0 if runtime.major == 12 else 4)
    runtime.cudaStreamGetCaptureInfo_ptsz(0, byref(status), None, *rest)
    if runtime.major == 12:
        runtime.cudaStreamGetCaptureInfo_v2_ptsz(0, byref(status), *[None] * 4)
        runtime.cudaStreamGetCaptureInfo_v3_ptsz(0, byref(status), *[None] * 5)
        runtime.cudaStreamUpdateCaptureDependencies_v2_ptsz(0, None, None, 0, 0)
        runtime.cudaStreamUpdateCaptureDependencies_ptsz(0, None, 0, 0)
    else:
        runtime.cudaStreamUpdateCaptureDependencies_ptsz(0, None, None, 0, 0)
    runtime.note("status", status.value)
    runtime.cudaStreamEndCapture_ptsz(0, byref(graph))
    runtime.note("types", _types(runtime, graph))
    _launch(runtime, graph, PER_THREAD)
    runtime.note("numbers", runtime.ints(numbers, 4))
