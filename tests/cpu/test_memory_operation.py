"""Words that a stream writes or waits for: by calls, in captures, as nodes of graphs."""

import ctypes
import mmap
import struct
import threading
import time
from ctypes import byref, c_uint, c_uint64, c_void_p

import pytest
from driver_abi import *

GEQ, EQ, AND, NOR = range(4)
WAIT_32, WRITE_32, WAIT_64, WRITE_64, BARRIER = 1, 2, 4, 5, 6


@pytest.fixture
def words(cuda):
    """Sixteen zero words of pinned memory: its address."""
    pointer = cuda.pinned(64)
    yield pointer
    cuda.cuCtxSynchronize()
    cuda.cuMemFreeHost(c_void_p(pointer))


@pytest.fixture
def stream(cuda):
    made = cuda.stream(NON_BLOCKING)
    yield made
    cuda.cuStreamSynchronize(made)
    cuda.cuStreamDestroy_v2(made)


def operations(*rows):
    """Each (kind, address, value, flags)."""
    data = b"".join(
        struct.pack("iiQQIIQQ", kind, 0, address, value, flags, 0, 0, 0)
        if kind != BARRIER
        else struct.pack("iI40x", kind, flags)
        for kind, address, value, flags in rows
    )
    return ctypes.create_string_buffer(data, len(data))


def test_writes(cuda, words, stream):
    cuda.cuStreamWriteValue32_v2(stream, words, 0xFFFFFFFF, 0)
    cuda.cuStreamWriteValue64_v2(stream, words + 8, 1 << 40, 0)
    cuda.cuStreamSynchronize(stream)
    assert (word(words).value, word(words + 4).value) == (0xFFFFFFFF, 0)
    assert c_uint64.from_address(words + 8).value == 1 << 40


def test_writes_to_device_memory(cuda, stream):
    memory = cuda.alloc(64)
    cuda.cuMemsetD32_v2(memory, 0, 16)
    cuda.cuCtxSynchronize()
    cuda.cuStreamWriteValue32_v2(stream, memory + 4, 7, 0)
    cuda.cuStreamSynchronize(stream)
    assert cuda.read(memory, 3) == [0, 7, 0]
    cuda.cuMemFree_v2(memory)


def test_memory_of_pools_and_managed_memory_is_refused(cuda, stream):
    pooled, managed = c_uint64(), c_uint64()
    cuda.cuMemAllocAsync(byref(pooled), 64, stream)
    cuda.cuMemAllocManaged(byref(managed), 64, 1)
    cuda.cuStreamSynchronize(stream)
    for memory in (pooled, managed):
        for call in ("cuStreamWriteValue32_v2", "cuStreamWaitValue32_v2"):
            assert cuda.code(call, stream, memory, 0, 0) == INVALID_VALUE
        batch = operations((WRITE_32, memory.value, 1, 0))
        assert cuda.code("cuStreamBatchMemOp_v2", stream, 1, batch, 0) == INVALID_VALUE
    cuda.cuMemFreeAsync(pooled, stream)
    cuda.cuMemFree_v2(managed)


@pytest.mark.parametrize(
    "flags, value, before, after",
    [
        (GEQ, 5, 4, 5),
        (GEQ, 5, 4, 9),
        (GEQ, 0xFFFFFFFE, 0xFFFFFFFD, 3),  # cyclic: 3 comes after
        (GEQ, 3, 0xFFFFFFFF, 4),
        (EQ, 5, 6, 5),
        (AND, 6, 9, 2),
        (NOR, 0xFFFFFFFE, 1, 0xFFFFFFF0),
    ],
)
@pytest.mark.parametrize("wide", [False, True])
def test_waits(cuda, words, stream, flags, value, before, after, wide):
    kind, name = (
        (c_uint64, "cuStreamWaitValue64_v2") if wide else (c_uint, "cuStreamWaitValue32_v2")
    )

    def stretched(number):  # the same relations among words of 64 bits
        return number | 0xFFFFFFFF << 32 if wide and number >> 31 else number

    there = kind.from_address(words)
    there.value = stretched(before)
    cuda.code(name, stream, words, stretched(value), flags)
    cuda.cuStreamWriteValue32_v2(stream, words + 32, 1, 0)
    time.sleep(0.02)
    assert cuda.code("cuStreamQuery", stream) == NOT_READY and word(words + 32).value == 0
    there.value = stretched(after)
    cuda.cuStreamSynchronize(stream)
    assert word(words + 32).value == 1


def test_a_stream_waits_for_another(cuda, words, stream, kernel):
    memory, other = cuda.alloc(128), cuda.stream(NON_BLOCKING)
    cuda.cuMemsetD32_v2(memory, 1, 32)
    cuda.cuCtxSynchronize()
    cuda.cuStreamWaitValue32_v2(stream, words, 1, EQ)
    cuda.launch(kernel("add1"), 1, 32, c_uint64(memory), stream=stream)
    cuda.cuMemsetD32Async(memory, 10, 32, other)
    cuda.cuStreamWriteValue32_v2(other, words, 1, 0)
    cuda.cuStreamSynchronize(stream)
    assert cuda.read(memory, 32) == [11] * 32
    cuda.cuStreamDestroy_v2(other)
    cuda.cuMemFree_v2(memory)


def test_the_first_forms(cuda, words, stream, own):
    cuda.cuStreamWriteValue32(stream, words, 3, 0)
    cuda.cuStreamWaitValue32(stream, words, 3, EQ)
    cuda.cuStreamWriteValue64(stream, words + 8, 4, 0)
    cuda.cuStreamWaitValue64(stream, words + 8, 4, EQ)
    cuda.cuStreamBatchMemOp(stream, 1, operations((WRITE_32, words + 16, 5, 0)), 0)
    cuda.cuStreamSynchronize(stream)
    assert [word(words + at).value for at in (0, 8, 16)] == [3, 4, 5]


def test_several_in_one_call(cuda, words, stream):
    rows = operations(
        (WRITE_32, words, 1, 0),
        (BARRIER, 0, 0, 0),
        (WAIT_32, words, 1, EQ),
        (WRITE_64, words + 8, 2, 0),
        (WAIT_64, words + 8, 2, GEQ),
        (WRITE_32, words + 4, 9, 0),
    )
    cuda.cuStreamBatchMemOp_v2(stream, 6, rows, 0)
    cuda.cuStreamSynchronize(stream)
    assert [word(words + at).value for at in (0, 4, 8)] == [1, 9, 2]


def test_captured(cuda, words, stream):
    graph, ready, count = c_void_p(), c_void_p(), c_uint64()
    cuda.cuStreamBeginCapture_v2(stream, 1)
    cuda.cuStreamWriteValue32_v2(stream, words, 8, 0)
    cuda.cuStreamWaitValue32_v2(stream, words, 8, EQ)
    cuda.cuStreamEndCapture(stream, byref(graph))
    cuda.cuGraphGetNodes(graph, c_void_p(), byref(count))
    assert count.value == 2 and word(words).value == 0
    cuda.cuGraphInstantiateWithFlags(byref(ready), graph, 0)
    cuda.cuGraphLaunch(ready, stream)
    cuda.cuStreamSynchronize(stream)
    assert word(words).value == 8
    cuda.cuGraphExecDestroy(ready)
    cuda.cuGraphDestroy(graph)


def node_params(context, rows):
    return ctypes.create_string_buffer(
        struct.pack("QIxxxxQIxxxx", context, len(rows) // 48, ctypes.addressof(rows), 0)
    )


def test_nodes(cuda, words, stream):
    graph, node, ready, kind = c_void_p(), c_void_p(), c_void_p(), c_uint()
    context = c_void_p()
    cuda.cuCtxGetCurrent(byref(context))
    first, second = operations((WRITE_32, words, 1, 0)), operations((WRITE_32, words, 2, 0))
    third = operations((WRITE_32, words, 3, 0))
    cuda.cuGraphCreate(byref(graph), 0)
    cuda.cuGraphAddBatchMemOpNode(
        byref(node), graph, c_void_p(), 0, node_params(context.value, first)
    )
    cuda.cuGraphNodeGetType(node, byref(kind))
    assert kind.value == 12
    told = (c_uint64 * 4)()
    cuda.cuGraphBatchMemOpNodeGetParams(node, told)
    assert told[0] == context.value and told[1] & 0xFFFFFFFF == 1
    assert c_uint64.from_address(told[2] + 8).value == words
    cuda.cuGraphBatchMemOpNodeSetParams(node, node_params(context.value, second))
    cuda.cuGraphInstantiateWithFlags(byref(ready), graph, 0)
    for expected in (2, 3):
        cuda.cuGraphLaunch(ready, stream)
        cuda.cuStreamSynchronize(stream)
        assert word(words).value == expected
        cuda.cuGraphExecBatchMemOpNodeSetParams(ready, node, node_params(context.value, third))
    cuda.cuGraphExecDestroy(ready)
    cuda.cuGraphDestroy(graph)


def test_a_wait_ends_with_its_context(passes, own):
    passes(
        """
        context, stream, pointer = c_void_p(), c_void_p(), cuda.pinned(4)
        cuda.cuCtxCreate_v2(byref(context), 0, 0)
        cuda.cuStreamCreate(byref(stream), 1)
        cuda.cuStreamWaitValue32_v2(stream, pointer, 1, 1)
        cuda.cuCtxDestroy_v2(context)
    """
    )


def test_a_wait_that_nobody_ends(passes, own):
    """The process does."""
    passes("cuda.cuStreamWaitValue32_v2(cuda.stream(1), cuda.pinned(4), 1, 1)")


def test_a_word_that_is_freed(passes, own):
    passes(
        """
        stream, memory = cuda.stream(1), cuda.alloc(64)
        cuda.cuMemsetD32_v2(memory, 0, 16)
        cuda.cuCtxSynchronize()
        cuda.cuCtxSynchronize()
        other = c_void_p()
        cuda.cuStreamWaitValue32_v2(stream, memory, 1, 1)
        time.sleep(0.02)
        cuda.cuMemFreeAsync(memory, cuda.stream(1))
        assert cuda.code("cuStreamSynchronize", stream) == ILLEGAL_ADDRESS
    """
    )


def test_memory_that_is_only_read(cuda, own):
    """NVIDIA's driver may report the error only in the stream, which is unusable then."""
    size = mmap.PAGESIZE
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    there = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    library = ctypes.CDLL(None, use_errno=True)
    assert library.mprotect(c_void_p(there), ctypes.c_size_t(size), mmap.PROT_READ) == 0
    cuda.cuMemHostRegister_v2(there, size, 8)
    memory = cuda.alloc(64)
    for name, arguments in {
        "cuStreamWriteValue32_v2": (0, there, 1, 0),
        "cuStreamWriteValue64_v2": (0, there, 1, 0),
        "cuMemsetD8_v2": (there, 1, 4),
        "cuMemcpyDtoD_v2": (there, memory, 64),
        "cuMemcpyDtoH_v2": (there, memory, 64),
    }.items():
        assert cuda.code(name, *arguments) == INVALID_VALUE
    cuda.cuStreamWaitValue32_v2(0, there, 0, EQ)
    cuda.cuMemcpyHtoD_v2(memory, there, 64)
    assert cuda.read(memory, 16) == [0] * 16
    cuda.cuMemHostUnregister(there)
    cuda.cuMemFree_v2(memory)


def test_a_wait_that_is_given_up_ends_its_batch(passes, own):
    """Operations after the wait do not run: its condition never held."""
    passes(
        """
        from cpu.test_memory_operation import EQ, WAIT_32, WRITE_32, operations
        stream, words = cuda.stream(NON_BLOCKING), cuda.pinned(64)
        rows = operations((WAIT_32, words, 1, EQ), (WRITE_32, words + 4, 1, 0))
        cuda.cuStreamBatchMemOp_v2(stream, 2, rows, 0)
        time.sleep(0.02)
        function = cuda.function(cuda.module(), "add1")
        cuda.launch(function, 1, 1, c_uint64(16), stream=cuda.stream(NON_BLOCKING))
        assert cuda.code("cuStreamSynchronize", stream) == ILLEGAL_ADDRESS
        time.sleep(0.02)
        assert word(words + 4).value == 0
    """
    )


def test_no_write_is_lost_when_memory_is_shared(cuda, own, stream):
    """Its content moves to where other processes see it, while the stream writes."""
    handle, count = ctypes.create_string_buffer(64), 250
    for _ in range(5):
        memory = cuda.alloc(16 << 20)
        batches = [
            operations(*((WRITE_32, start + 4 * at, 8, 0) for at in range(count)))
            for start in range(memory, memory + 1200 * count, 4 * count)
        ]

        def write(batches=batches):
            for each in batches:
                assert cuda.code("cuStreamBatchMemOp_v2", stream, count, each, 0) == SUCCESS

        thread = threading.Thread(target=write)
        thread.start()
        cuda.cuIpcGetMemHandle(handle, memory)
        thread.join()
        cuda.cuStreamSynchronize(stream)
        assert cuda.read(memory, count * len(batches)) == [8] * (count * len(batches))
        cuda.cuMemFree_v2(memory)
