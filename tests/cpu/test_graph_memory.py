"""Memory of graphs: allocations, frees, trimming and high marks."""

import ctypes
import struct
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p

import pytest
from driver_abi import *

from .graphs import COPY, FILL, KERNEL
from .node_params import ALLOCATE, AUTO_FREE, FREE, MANAGED, Graph, allocation, graph, params

__all__ = ["graph"]

# -- memory of graphs ------------------------------------------------------------------------------


def used(cuda, which=0):
    value = c_uint64()
    cuda.cuDeviceGetGraphMemAttribute(0, which, byref(value))
    return value.value


def trimmed(cuda):
    cuda.cuDeviceGraphMemTrim(0)
    return used(cuda)


def test_a_graph_allocates_and_frees_memory(cuda, graph, memory, kernel):
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


IS_MANAGED = 8


def test_a_graph_allocates_managed_memory(cuda, graph):
    node, address = graph.allocate(128, kind=MANAGED)
    graph.fill(address, 6, 32, after=[node])
    ready, managed, told = graph.ready(), c_int(), ctypes.create_string_buffer(120)
    cuda.cuGraphMemAllocNodeGetParams(c_void_p(node), told)
    assert struct.unpack_from("i", told.raw)[0] == MANAGED
    cuda.cuGraphLaunch(ready, 0)
    cuda.cuCtxSynchronize()
    cuda.cuPointerGetAttribute(byref(managed), IS_MANAGED, c_uint64(address))
    if cuda.on_hardware:  # driver 580 answers 0, and the host cannot read the memory
        assert managed.value == 0
    else:
        assert managed.value == 1
        assert list((c_int * 32).from_address(address)) == [6] * 32
    cuda.cuMemFree_v2(address)
    cuda.cuGraphExecDestroy(ready)
    trimmed(cuda)


@pytest.mark.parametrize("free", ["cuMemFree_v2", "cuMemFreeAsync"])
def test_memory_may_outlive_the_launch(cuda, graph, free):
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
    """NVIDIA's driver counts in blocks of 32 MiB."""
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


def test_a_trim_keeps_memory_in_use(cuda, graph):
    _node, address = graph.allocate(128)
    ready = graph.ready()
    cuda.cuGraphLaunch(ready, 0)
    cuda.cuCtxSynchronize()
    assert trimmed(cuda) >= 128
    cuda.cuMemFree_v2(address)
    assert trimmed(cuda) == 0
    cuda.cuGraphExecDestroy(ready)


def test_a_graph_with_memory_keeps_its_shape(cuda, graph):
    node, address = graph.allocate(128)
    fill = graph.fill(address, 5, 32, after=[node])
    start, end = byref(c_void_p(node)), byref(c_void_p(fill))
    one = c_size_t(1)
    assert cuda.code("cuGraphDestroyNode", fill) == NOT_SUPPORTED
    if not cuda.on_hardware:  # a GPU's driver may return another error
        code = cuda.code("cuGraphRemoveDependencies", graph.handle, start, end, one)
        assert code == NOT_SUPPORTED
    given = params(ALLOCATE, allocation(128))
    assert cuda.code("cuGraphNodeSetParams", node, byref(given)) == NOT_SUPPORTED


def test_a_graph_with_memory_has_one_executable_graph(cuda, graph):
    graph.allocate(128)
    ready, made = graph.ready(), c_void_p()
    again = "cuGraphInstantiateWithFlags", byref(made), graph.handle, 0
    assert cuda.code(*again) == NOT_SUPPORTED
    cuda.cuGraphExecDestroy(ready)
    assert cuda.code(*again) == SUCCESS
    cuda.cuGraphExecDestroy(made)


def test_a_launch_frees_memory_by_itself(cuda, graph):
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


def test_memory_may_outlive_the_graph(cuda):
    graph = Graph(cuda)
    node, address = graph.allocate(128)
    graph.fill(address, 6, 32, after=[node])
    graph.run()
    cuda.cuGraphDestroy(graph.handle)
    assert cuda.read(address, 32) == [6] * 32
    cuda.cuMemFree_v2(address)


def test_another_graph_frees_memory(cuda):
    """The memory exists until that graph's launch ends, even if both graphs are destroyed."""
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


def test_allocations_in_a_capture_become_nodes(cuda, memory, kernel):
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


def test_high_marks_are_reset(cuda, graph):
    node, address = graph.allocate(1 << 20)
    graph.add(FREE, struct.pack("Q", address), after=[node])
    graph.run()
    assert used(cuda, 1) >= 1 << 20 and used(cuda, 3) >= 1 << 20
    cuda.cuDeviceSetGraphMemAttribute(0, 1, byref(c_uint64()))
    assert used(cuda, 1) == used(cuda)
    cuda.cuDeviceGraphMemTrim(0)
