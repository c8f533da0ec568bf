"""Calls whose topic has no test file of its own.

They are memory advice and prefetches, stream attributes, batched copies, a location's pool,
captures into a graph, context events, the attach count of a context, and execution affinity.
"""

import struct
from ctypes import addressof, byref, c_int, c_size_t, c_uint, c_uint64, c_void_p

import pytest
from driver_abi import *

from .test_virtual_memory import buffer

READ_MOSTLY, PREFERRED, ACCESSED_BY, PREFETCHED = 1, 2, 3, 4
SYNCHRONIZATION_POLICY, PRIORITY = 3, 8
NOWHERE = -2


@pytest.fixture
def managed(cuda):
    """Two pages of 64 KiB."""
    pointer = c_uint64()
    cuda.cuMemAllocManaged(byref(pointer), 128 << 10, 1)
    yield pointer.value
    cuda.cuMemFree_v2(pointer)


def told(cuda, which, address, size, count=1):
    out = (c_int * count)(*[77] * count)
    cuda.cuMemRangeGetAttribute(out, 4 * count, which, address, size)
    return list(out) if count > 1 else out[0]


def test_advice_is_told_again(cuda, managed):
    half, whole = 64 << 10, 128 << 10
    assert told(cuda, READ_MOSTLY, managed, whole) == 0
    assert told(cuda, PREFERRED, managed, whole) == NOWHERE
    assert told(cuda, ACCESSED_BY, managed, whole, 3) == [NOWHERE] * 3
    cuda.cuMemAdvise(managed, half, 1, 0)
    assert told(cuda, READ_MOSTLY, managed, half) == 1
    assert told(cuda, READ_MOSTLY, managed + half, half) == 0
    assert told(cuda, READ_MOSTLY, managed, whole) == 0  # a part of the range lacks the advice
    cuda.cuMemAdvise(managed, whole, 3, 0)
    assert told(cuda, PREFERRED, managed, whole) == 0
    assert told(cuda, READ_MOSTLY, managed, half) == 1
    cuda.cuMemAdvise(managed, whole, 5, 0)
    assert told(cuda, ACCESSED_BY, managed, whole, 3) == [0, NOWHERE, NOWHERE]
    cuda.cuMemAdvise(managed, whole, 2, 0)
    cuda.cuMemAdvise(managed, whole, 4, 0)
    cuda.cuMemAdvise(managed, whole, 6, 0)
    assert told(cuda, READ_MOSTLY, managed, half) == 0
    assert told(cuda, PREFERRED, managed, whole) == NOWHERE
    assert told(cuda, ACCESSED_BY, managed, whole, 3) == [NOWHERE] * 3


def test_prefetches_are_told_again(cuda, managed):
    assert told(cuda, PREFETCHED, managed, 128 << 10) == NOWHERE
    cuda.cuMemPrefetchAsync(managed, 128 << 10, 0, 0)
    cuda.cuCtxSynchronize()
    assert told(cuda, PREFETCHED, managed, 128 << 10) == 0
    kinds = (c_uint * 2)(READ_MOSTLY, PREFETCHED)
    values, sizes = (c_int * 2)(5, 5), (c_size_t * 2)(4, 4)
    places = (c_void_p * 2)(addressof(values), addressof(values) + 4)
    cuda.cuMemRangeGetAttributes(places, sizes, kinds, 2, managed, 128 << 10)
    assert list(values) == [0, 0]


def test_attributes_of_streams(cuda):
    stream, other = cuda.stream(NON_BLOCKING), cuda.stream(NON_BLOCKING)
    value = (c_int * 16)()
    value[0] = 3  # wait by yielding
    cuda.cuStreamSetAttribute(stream, SYNCHRONIZATION_POLICY, value)
    cuda.cuStreamCopyAttributes(other, stream)
    value[0] = 0
    cuda.cuStreamGetAttribute(other, SYNCHRONIZATION_POLICY, value)
    assert value[0] == 3
    cuda.cuStreamGetAttribute(other, PRIORITY, value)
    assert value[0] == 0
    for each in (stream, other):
        cuda.cuStreamDestroy_v2(each)


def test_copies_in_a_batch(cuda):
    stream, count = cuda.stream(NON_BLOCKING), 8
    source, target = cuda.pinned(4 * count), cuda.alloc(4 * count)
    for i in range(count):
        word(source + 4 * i).value = i + 1
    to = (c_uint64 * count)(*(target + 4 * i for i in range(count)))
    source_of = (c_uint64 * count)(*(source + 4 * (count - 1 - i) for i in range(count)))
    sizes, places = (c_size_t * count)(*[4] * count), (c_size_t * 1)(0)
    attributes = buffer("iiiiiI", 1, 0, 0, 0, 0, 0)
    cuda.cuMemcpyBatchAsync_v2(to, source_of, sizes, count, attributes, places, 1, stream)
    cuda.cuStreamSynchronize(stream)
    assert cuda.read(target, count) == list(range(count, 0, -1))
    cuda.cuMemFreeHost(c_void_p(source))
    cuda.cuMemFree_v2(target)
    cuda.cuStreamDestroy_v2(stream)


def test_the_pool_of_a_place(cuda):
    place, first, second = buffer("ii", 1, 0), c_void_p(), c_void_p()
    cuda.cuMemGetDefaultMemPool(byref(first), place, 1)
    cuda.cuDeviceGetDefaultMemPool(byref(second), 0)
    assert first.value == second.value
    cuda.cuMemGetMemPool(byref(first), place, 1)
    cuda.cuDeviceGetMemPool(byref(second), 0)
    assert first.value == second.value
    cuda.cuMemSetMemPool(place, 1, first)


def test_a_capture_into_a_graph(cuda):
    stream, memory = cuda.stream(NON_BLOCKING), cuda.alloc(64)
    graph, first, ready, got = c_void_p(), c_void_p(), c_void_p(), c_void_p()
    cuda.cuGraphCreate(byref(graph), 0)
    fill = struct.pack("QQIIQQ", memory, 0, 1, 4, 8, 1)
    context = c_void_p()
    cuda.cuCtxGetCurrent(byref(context))
    cuda.cuGraphAddMemsetNode(byref(first), graph, c_void_p(), 0, fill, context)
    cuda.cuStreamBeginCaptureToGraph(stream, graph, byref(first), c_void_p(), 1, 1)
    cuda.cuMemsetD32Async(memory, 2, 4, stream)
    cuda.cuStreamEndCapture(stream, byref(got))
    assert got.value == graph.value
    count = c_size_t()
    cuda.cuGraphGetEdges(graph, c_void_p(), c_void_p(), byref(count))
    assert count.value == 1
    cuda.cuGraphInstantiateWithFlags(byref(ready), graph, 0)
    cuda.cuGraphLaunch(ready, stream)
    cuda.cuStreamSynchronize(stream)
    assert cuda.read(memory, 8) == [2] * 4 + [1] * 4
    cuda.cuGraphExecDestroy(ready)
    cuda.cuGraphDestroy(graph)
    cuda.cuMemFree_v2(memory)
    cuda.cuStreamDestroy_v2(stream)


def test_an_event_of_all_that_a_context_does(cuda, kernel, own):
    flag, event = cuda.pinned(4), cuda.event(2)
    stream, context = cuda.stream(NON_BLOCKING), c_void_p()
    cuda.cuCtxGetCurrent(byref(context))
    cuda.launch(kernel("wait_flag"), 1, 1, c_uint64(flag), stream=stream)
    cuda.cuCtxRecordEvent(context, event)
    assert cuda.code("cuEventQuery", event) == NOT_READY
    word(flag).value = 1
    cuda.cuEventSynchronize(event)
    assert cuda.code("cuStreamQuery", stream) == SUCCESS
    cuda.cuEventDestroy_v2(event)
    cuda.cuStreamDestroy_v2(stream)
    cuda.cuMemFreeHost(c_void_p(flag))


def test_attaching_is_counted(passes, own):
    passes(
        """
        made, again = c_void_p(), c_void_p()
        cuda.cuCtxCreate_v2(byref(made), 0, 0)
        cuda.cuCtxAttach(byref(again), 0)
        assert made.value == again.value
        cuda.cuCtxDetach(made)
        cuda.cuCtxSynchronize()
        cuda.cuCtxDetach(made)
        assert cuda.code("cuCtxGetApiVersion", made, byref(c_uint())) == INVALID_CONTEXT
    """
    )


def test_a_share_of_the_device(cuda):
    supported, share, all_of_it = c_int(9), (c_uint * 8)(), c_int()
    cuda.cuDeviceGetExecAffinitySupport(byref(supported), 0, 0)
    assert supported.value == 0
    cuda.cuCtxGetExecAffinity(share, 0)
    cuda.cuDeviceGetAttribute(byref(all_of_it), 16, 0)
    assert share[1] == all_of_it.value
