"""Nodes of graphs by one structure, memory of graphs, objects of the program, what is enabled."""

import ctypes
import struct
from ctypes import byref, c_int, c_size_t, c_uint, c_uint64, c_void_p

import pytest
from driver_abi import *

from .test_graph import kernel_params

KERNEL, COPY, FILL, HOST, CHILD, EMPTY, WAIT, RECORD = range(8)
ALLOCATE, FREE = 10, 11
AUTO_FREE = 1
PRIORITY, COOPERATIVE = 8, 2


class Any(ctypes.Structure):
    _fields_ = [
        ("type", c_int),
        ("reserved", c_int * 3),
        ("data", ctypes.c_ubyte * 232),
        ("end", c_uint64),
    ]


assert ctypes.sizeof(Any) == 256


def params(kind, data=b""):
    made = Any(kind)
    ctypes.memmove(made.data, data, len(data))
    return made


def allocation(size, device=0):
    return struct.pack("iiiiQQ56xQQQQ", 1, 0, 1, device, 0, 0, 0, 0, size, 0)


class Graph:
    def __init__(self, cuda):
        self.cuda, self.handle, self.kept = cuda, c_void_p(), []
        context = c_void_p()
        cuda.cuCtxGetCurrent(byref(context))
        self.context = context.value
        cuda.cuGraphCreate(byref(self.handle), 0)

    def add(self, kind, data=b"", after=()):
        """The node, and its parameters as the call left them."""
        given, node = params(kind, data), c_void_p()
        before = (c_void_p * max(1, len(after)))(*after)
        self.cuda.cuGraphAddNode_v2(
            byref(node), self.handle, before, c_void_p(), len(after), byref(given)
        )
        return node.value, given

    def allocate(self, size, after=()):
        node, given = self.add(ALLOCATE, allocation(size), after)
        return node, struct.unpack_from("Q", bytes(given.data), 112)[0]

    def fill(self, address, value, count, after=()):
        return self.add(
            FILL, struct.pack("QQIIQQQ", address, 0, value, 4, count, 1, self.context), after
        )[0]

    def kernel(self, function, *arguments, after=()):
        made = kernel_params(function, 1, 32, *arguments)
        self.kept.append(made)
        return self.add(KERNEL, bytes(made), after)[0]

    def copy(self, to, source, size, after=(), host=False):
        """From device memory, to the host's or the device's."""
        side = "4QiiQQQQQQ"
        data = struct.pack(side, 0, 0, 0, 0, 2, 0, 0, source, 0, 0, 0, 0)
        place = (to, 0) if host else (0, to)
        data += struct.pack(side, 0, 0, 0, 0, 1 if host else 2, 0, *place, 0, 0, 0, 0)
        head = struct.pack("iiQ", 0, 0, self.context)
        return self.add(COPY, head + data + struct.pack("QQQ", size, 1, 1), after)[0]

    def ready(self, flags=0):
        made = c_void_p()
        self.cuda.cuGraphInstantiateWithFlags(byref(made), self.handle, flags)
        return made.value

    def run(self, flags=0):
        ready = self.ready(flags)
        self.cuda.cuGraphLaunch(ready, 0)
        self.cuda.cuCtxSynchronize()
        self.cuda.cuGraphExecDestroy(ready)


@pytest.fixture
def graph(cuda):
    made = Graph(cuda)
    yield made
    cuda.cuCtxSynchronize()
    cuda.cuGraphDestroy(made.handle)


@pytest.fixture
def memory(cuda):
    pointer = cuda.alloc(256)
    cuda.cuMemsetD32_v2(pointer, 0, 64)
    cuda.cuCtxSynchronize()
    yield pointer
    cuda.cuCtxSynchronize()
    cuda.cuMemFree_v2(pointer)


def test_kinds_by_one_structure(cuda, graph, memory, kernel, events):
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


def test_parameters_by_one_structure(cuda, graph, memory):
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


def test_what_is_not_enabled_is_left_out(cuda, graph, memory):
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


def test_a_child_is_given_another_graphs_parameters(cuda, graph, memory):
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


# -- memory of graphs ------------------------------------------------------------------------------


def used(cuda, which=0):
    value = c_uint64()
    cuda.cuDeviceGetGraphMemAttribute(0, which, byref(value))
    return value.value


def trimmed(cuda):
    cuda.cuDeviceGraphMemTrim(0)
    return used(cuda)


def test_memory_within_a_graph(cuda, graph, memory, kernel):
    node, address = graph.allocate(128)
    assert address
    fill = graph.fill(address, 3, 32, after=[node])
    add = graph.kernel(kernel("add1"), c_uint64(address), after=[fill])
    copy = graph.copy(memory, address, 128, after=[add])
    graph.add(FREE, struct.pack("Q", address), after=[copy])
    for _ in range(2):
        graph.run()
        assert cuda.read(memory, 32) == [4] * 32
    assert trimmed(cuda) == 0


@pytest.mark.parametrize("free", ["cuMemFree_v2", "cuMemFreeAsync"])
def test_memory_that_outlives_the_launch(cuda, graph, free):
    node, address = graph.allocate(128)
    graph.fill(address, 5, 32, after=[node])
    ready = graph.ready()
    assert trimmed(cuda) == 0
    cuda.cuGraphLaunch(ready, 0)
    cuda.cuCtxSynchronize()
    taken = used(cuda)
    assert taken >= 128
    assert cuda.read(address, 32) == [5] * 32
    assert cuda.code("cuGraphLaunch", ready, 0) == INVALID_VALUE  # the program still has it
    cuda.code(free, address, 0)
    cuda.cuCtxSynchronize()
    assert used(cuda) == taken and trimmed(cuda) == 0
    cuda.cuGraphLaunch(ready, 0)
    cuda.cuMemFreeAsync(address, 0)
    cuda.cuCtxSynchronize()
    cuda.cuGraphExecDestroy(ready)
    assert trimmed(cuda) == 0


USED, USED_HIGH, RESERVED, RESERVED_HIGH = range(4)


def test_memory_stays_with_the_graphs_until_it_is_trimmed(cuda, graph):
    """What NVIDIA's driver counts, which does so in blocks of 32 MiB."""
    size = 3 << 20

    def counts():
        return [used(cuda, which) for which in range(4)]

    trimmed(cuda)
    for which in (USED_HIGH, RESERVED_HIGH):
        cuda.cuDeviceSetGraphMemAttribute(0, which, byref(c_uint64(0)))
    node, address = graph.allocate(size)
    graph.add(FREE, struct.pack("Q", address), after=[node])
    ready = graph.ready()
    assert counts() == [0, 0, 0, 0]  # only a launch takes memory
    for _ in range(2):
        cuda.cuGraphLaunch(ready, 0)
        cuda.cuCtxSynchronize()
        taken = used(cuda)
        assert taken >= size and counts() == [taken] * 4
    assert trimmed(cuda) == 0 and counts() == [0, taken, 0, taken]
    cuda.cuGraphLaunch(ready, 0)
    cuda.cuCtxSynchronize()
    cuda.cuGraphExecDestroy(ready)
    assert counts() == [taken] * 4
    cuda.cuDeviceGraphMemTrim(0)
    cuda.cuDeviceSetGraphMemAttribute(0, USED_HIGH, byref(c_uint64(0)))
    assert counts() == [0, 0, 0, taken]


def test_a_trim_leaves_what_the_program_has(cuda, graph):
    _node, address = graph.allocate(128)
    ready = graph.ready()
    cuda.cuGraphLaunch(ready, 0)
    cuda.cuCtxSynchronize()
    assert trimmed(cuda) >= 128
    cuda.cuMemFree_v2(address)
    assert trimmed(cuda) == 0
    cuda.cuGraphExecDestroy(ready)


def test_memory_that_a_launch_frees_by_itself(cuda, graph):
    node, address = graph.allocate(128)
    graph.fill(address, 5, 32, after=[node])
    ready, flags = graph.ready(AUTO_FREE), c_uint64()
    cuda.cuGraphExecGetFlags(ready, byref(flags))
    assert flags.value == AUTO_FREE
    for _ in range(3):
        cuda.cuGraphLaunch(ready, 0)
    assert cuda.read(address, 32) == [5] * 32
    cuda.cuMemFree_v2(address)
    cuda.cuGraphExecDestroy(ready)


def test_memory_that_outlives_the_graph(cuda):
    graph = Graph(cuda)
    node, address = graph.allocate(128)
    graph.fill(address, 6, 32, after=[node])
    graph.run()
    cuda.cuGraphDestroy(graph.handle)
    assert cuda.read(address, 32) == [6] * 32
    cuda.cuMemFree_v2(address)


def test_memory_that_another_graph_frees(cuda):
    """It is there until that graph's launch is over, though both graphs are gone before."""
    stream, word_of = cuda.stream(NON_BLOCKING), cuda.pinned(64)
    first, second, copied = Graph(cuda), Graph(cuda), cuda.alloc(1 << 20)
    _, address = first.allocate(1 << 20)
    made = first.ready()
    cuda.cuGraphLaunch(made, stream)
    cuda.cuStreamSynchronize(stream)
    fill = second.fill(address, 7, 1 << 18)
    copy = second.copy(copied, address, 1 << 20, after=[fill])
    second.add(FREE, struct.pack("Q", address), after=[copy])
    ready = second.ready()
    cuda.cuGraphExecDestroy(made)
    cuda.cuGraphDestroy(first.handle)
    cuda.cuStreamWaitValue32_v2(stream, word_of, 1, 1)
    cuda.cuGraphLaunch(ready, stream)
    cuda.cuGraphExecDestroy(ready)
    cuda.cuGraphDestroy(second.handle)
    word(word_of).value = 1
    cuda.cuStreamSynchronize(stream)
    assert cuda.read(copied + (1 << 20) - 16, 4) == [7] * 4
    cuda.cuMemFree_v2(copied)
    cuda.cuMemFreeHost(c_void_p(word_of))
    cuda.cuStreamDestroy_v2(stream)


def test_allocations_in_a_capture(cuda, memory, kernel):
    stream, address, handle, ready = cuda.stream(NON_BLOCKING), c_uint64(), c_void_p(), c_void_p()
    cuda.cuStreamBeginCapture_v2(stream, 1)
    cuda.cuMemAllocAsync(byref(address), 128, stream)
    cuda.cuMemsetD32Async(address.value, 2, 32, stream)
    cuda.launch(kernel("add1"), 1, 32, c_uint64(address.value), stream=stream)
    cuda.cuMemcpyDtoDAsync_v2(memory, address.value, 128, stream)
    cuda.cuMemFreeAsync(address.value, stream)
    cuda.cuStreamEndCapture(stream, byref(handle))
    count = c_size_t(8)
    nodes = (c_void_p * 8)()
    cuda.cuGraphGetNodes(handle, nodes, byref(count))
    assert count.value == 5
    told, kind, kinds = c_uint64(), c_int(), set()
    for node in nodes[:5]:
        cuda.cuGraphNodeGetType(node, byref(kind))
        kinds.add(kind.value)
        if kind.value == FREE:
            cuda.cuGraphMemFreeNodeGetParams(node, byref(told))
            assert told.value == address.value
        if kind.value == ALLOCATE:
            data = ctypes.create_string_buffer(120)
            cuda.cuGraphMemAllocNodeGetParams(node, data)
            size, where = struct.unpack_from("QQ", data.raw, 104)
            assert where == address.value and size >= 128
    assert kinds == {ALLOCATE, FILL, KERNEL, COPY, FREE}
    cuda.cuGraphInstantiateWithFlags(byref(ready), handle, 0)
    cuda.cuGraphLaunch(ready, stream)
    cuda.cuGraphExecDestroy(ready)  # the launch goes on
    cuda.cuGraphDestroy(handle)
    cuda.cuStreamSynchronize(stream)
    assert cuda.read(memory, 32) == [3] * 32
    cuda.cuStreamDestroy_v2(stream)


def test_high_marks(cuda, graph):
    node, address = graph.allocate(1 << 20)
    graph.add(FREE, struct.pack("Q", address), after=[node])
    graph.run()
    assert used(cuda, 1) >= 1 << 20 and used(cuda, 3) >= 1 << 20
    cuda.cuDeviceSetGraphMemAttribute(0, 1, byref(c_uint64()))
    assert used(cuda, 1) == used(cuda)
    cuda.cuDeviceGraphMemTrim(0)


# -- objects and attributes ------------------------------------------------------------------------


def test_objects_live_as_long_as_what_has_them(cuda):
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


def test_references_that_move_and_come_back(cuda):
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


def test_no_more_references_than_there_are(cuda, own):
    """CUDA leaves open what comes of taking those of others: here it is refused."""
    gone = []
    function = HostFunction(lambda data: gone.append(data))
    thing, graph = c_void_p(), Graph(cuda)
    cuda.cuUserObjectCreate(byref(thing), c_void_p(8), function, 2, 1)
    assert cuda.code("cuGraphRetainUserObject", graph.handle, thing, 5, 1) == INVALID_VALUE
    cuda.cuGraphRetainUserObject(graph.handle, thing, 1, 1)
    assert cuda.code("cuGraphRetainUserObject", graph.handle, thing, 2, 1) == INVALID_VALUE
    assert cuda.code("cuUserObjectRelease", thing, 2) == INVALID_VALUE  # one is the graph's
    cuda.cuUserObjectRelease(thing, 1)
    assert cuda.code("cuUserObjectRelease", thing, 1) == INVALID_VALUE and gone == []
    cuda.cuGraphDestroy(graph.handle)
    eventually(lambda: gone == [8])


def test_attributes_of_kernels_nodes(cuda, graph, kernel):
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
