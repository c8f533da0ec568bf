"""Copies of boxes, prefetches and discards by one call; events that a whole context waits for."""

import ctypes
import struct
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p

import numpy as np
import pytest
from driver_abi import *

POINTER, ARRAY, STREAM_ORDER, HOST, DEVICE = 1, 2, 1, 2, 1
UINT32 = 3


def memory(address, row=0, rows=0):
    return struct.pack("i4xQQQii", POINTER, address, row, rows, 0, 0)


def array(handle, x=0, y=0, z=0):
    return struct.pack("i4xQQQQ", ARRAY, handle, x, y, z)


def box(source, target, width, height=1, depth=1, order=STREAM_ORDER):
    return source + target + struct.pack("QQQiI", width, height, depth, order, 0)


@pytest.fixture
def stream(cuda):
    made = cuda.stream(NON_BLOCKING)
    yield made
    cuda.cuStreamDestroy_v2(made)


@pytest.fixture
def copies(cuda, stream):
    """Runs copies of boxes; the result of the call."""

    def run(*boxes, on=stream, flags=0, call="cuMemcpy3DBatchAsync_v2"):
        data = b"".join(boxes)
        cuda.cuCtxSynchronize()  # the stream does not wait for earlier work
        code = cuda.code(call, len(boxes), ctypes.create_string_buffer(data, len(data)), flags, on)
        cuda.cuStreamSynchronize(stream)
        return code

    return run


def placed(cuda, values):
    at = cuda.alloc(values.nbytes)
    cuda.cuMemcpyHtoD_v2(at, c_void_p(values.ctypes.data), values.nbytes)
    return at


def test_boxes_of_memory(cuda, copies):
    """Bytes, in rows and layers of the given lengths or packed."""
    values = np.arange(4 * 6 * 8, dtype=np.uint8).reshape(4, 6, 8)
    source, target, other = placed(cuda, values), cuda.alloc(192), cuda.alloc(24)
    cuda.cuMemsetD8_v2(target, 0, 192)
    code = copies(
        box(memory(source + 8 + 2, 8, 6), memory(target, 5, 4), 3, 2, 4),
        box(memory(source), memory(other), 4, 3, 2),
    )
    assert code == SUCCESS
    expected = np.zeros((4, 4, 5), np.uint8)
    expected[:, :2, :3] = values[:, 1:3, 2:5]
    assert cuda.read(target, 80, ctypes.c_uint8) == expected.reshape(-1).tolist()
    # Packed on both sides is one row.
    assert cuda.read(other, 24, ctypes.c_uint8) == list(range(24))
    for at in (source, target, other):
        cuda.cuMemFree_v2(at)


@pytest.mark.parametrize("suffix", ["", "_ptsz"])
def test_boxes_of_arrays(cuda, copies, suffix):
    """Elements are the array's."""
    values = np.arange(3 * 4 * 8, dtype=np.uint32).reshape(3, 4, 8)
    source, target = placed(cuda, values), cuda.alloc(values.nbytes)
    cuda.cuMemsetD8_v2(target, 0, values.nbytes)
    handles = []
    for _ in range(2):
        handles.append(c_void_p())
        shape = struct.pack("QQQiII4x", 8, 4, 3, UINT32, 1, 0)
        cuda.cuArray3DCreate_v2(byref(handles[-1]), ctypes.create_string_buffer(shape))
    first, second = (h.value for h in handles)
    call = f"cuMemcpy3DBatchAsync_v2{suffix}"
    assert copies(box(memory(source, 8, 4), array(first), 8, 4, 3), call=call) == SUCCESS
    assert copies(box(array(first, 2, 1, 1), array(second, 1, 0, 0), 5, 3, 2), call=call) == SUCCESS
    assert copies(box(array(second, 1), memory(target, 8, 4), 5, 3, 2), call=call) == SUCCESS
    expected = np.zeros_like(values)
    expected[:2, :3, :5] = values[1:, 1:, 2:7]
    assert cuda.read(target, values.size) == expected.reshape(-1).tolist()
    for handle in handles:
        cuda.cuArrayDestroy(handle)
    for at in (source, target):
        cuda.cuMemFree_v2(at)


def test_boxes_that_are_wrong(cuda, copies, stream):
    a, b = cuda.alloc(64), cuda.alloc(64)
    good = box(memory(a), memory(b), 8, 2, 2)
    assert copies(good) == SUCCESS
    assert copies() == copies(good, flags=1) == copies(good, on=0) == INVALID_VALUE
    assert copies(box(memory(a), memory(b), 0, 2, 2)) == INVALID_VALUE
    assert copies(box(memory(a, 7), memory(b), 8, 2, 2)) == INVALID_VALUE
    assert copies(box(memory(a), memory(b), 8, 2, 2, order=0)) == INVALID_VALUE
    assert copies(box(memory(0), memory(b), 8, 2, 2)) == INVALID_VALUE
    if not cuda.on_hardware:  # the first form, of CUDA 12.8
        failed, data = c_size_t(9), box(memory(a), memory(b), 8) + box(memory(0), memory(b), 8)
        code = cuda.code("cuMemcpy3DBatchAsync", 2, data, byref(failed), 0, stream)
        assert (code, failed.value) == (INVALID_VALUE, 1)
    for at in (a, b):
        cuda.cuMemFree_v2(at)


PREFETCHED = 4


def prefetched(cuda, address, size):
    out = c_int(77)
    cuda.cuMemRangeGetAttribute(byref(out), 4, PREFETCHED, address, size)
    return out.value


class Ranges:
    def __init__(self, cuda, base, size, count):
        self.cuda, self.count = cuda, count
        self.addresses = (c_uint64 * count)(*(base + n * size for n in range(count)))
        self.sizes = (c_size_t * count)(*[size] * count)
        self.places = struct.pack("iiii", DEVICE, 0, HOST, 0)
        self.firsts = (c_size_t * 2)(0, 1)

    def code(self, name, stream, kinds=2, flags=0):
        where = (self.places, self.firsts, kinds) if "Prefetch" in name else ()
        return self.cuda.code(
            name, self.addresses, self.sizes, self.count, *where, flags, c_void_p(stream)
        )


@pytest.fixture
def ranges(cuda):
    value, pointer, size = c_int(), c_uint64(), 64 << 10
    cuda.cuDeviceGetAttribute(byref(value), 89, 0)
    if not value.value:
        pytest.skip("the device has no concurrent managed access")
    cuda.cuMemAllocManaged(byref(pointer), 3 * size, 1)
    yield Ranges(cuda, pointer.value, size, 3)
    cuda.cuMemFree_v2(pointer)


@pytest.mark.parametrize("name", ["cuMemPrefetchBatchAsync", "cuMemDiscardAndPrefetchBatchAsync"])
@pytest.mark.parametrize("suffix", ["", "_ptsz"])
def test_prefetches(cuda, ranges, stream, name, suffix):
    cuda.cuMemsetD8_v2(ranges.addresses[0], 7, 64 << 10)
    cuda.cuCtxSynchronize()  # the stream waits for no other
    assert ranges.code(name + suffix, stream) == SUCCESS
    cuda.cuStreamSynchronize(stream)
    assert [prefetched(cuda, a, 64 << 10) for a in ranges.addresses] == [0, -1, -1]
    if "Discard" not in name:
        assert ctypes.string_at(ranges.addresses[0], 64 << 10) == b"\7" * (64 << 10)


def test_discards(cuda, ranges, stream):
    assert ranges.code("cuMemDiscardBatchAsync", stream) == SUCCESS
    cuda.cuMemsetD8Async(ranges.addresses[1], 5, 16, stream)
    cuda.cuStreamSynchronize(stream)
    assert ctypes.string_at(ranges.addresses[1], 16) == b"\5" * 16


def test_ranges_that_are_wrong(cuda, ranges, stream):
    for name in ("cuMemPrefetchBatchAsync", "cuMemDiscardBatchAsync"):
        assert ranges.code(name, stream, flags=1) == INVALID_VALUE
        assert ranges.code(name, 0) == INVALID_VALUE
    assert ranges.code("cuMemPrefetchBatchAsync", stream, kinds=0) == INVALID_VALUE
    ranges.firsts[0] = 1
    assert ranges.code("cuMemPrefetchBatchAsync", stream) == INVALID_VALUE
    ranges.firsts[:] = [0, 3]
    assert ranges.code("cuMemPrefetchBatchAsync", stream) == INVALID_VALUE
    plain = cuda.alloc(64 << 10)
    ranges.addresses[2] = plain
    assert ranges.code("cuMemDiscardBatchAsync", stream) == INVALID_VALUE
    cuda.cuMemFree_v2(plain)


def test_a_context_waits_for_an_event(cuda, kernel, own):
    """Streams that exist before the wait, and a stream that is made during the wait."""
    flag, out, context = cuda.pinned(4), cuda.alloc(64), c_void_p()
    first, second, event = cuda.stream(NON_BLOCKING), cuda.stream(NON_BLOCKING), cuda.event(2)
    cuda.cuCtxGetCurrent(byref(context))
    cuda.launch(kernel("wait_flag"), 1, 1, c_uint64(flag), stream=first)
    cuda.cuEventRecord(event, first)
    cuda.cuCtxWaitEvent(context, event)
    third = cuda.stream(NON_BLOCKING)
    for stream in (second, third):
        cuda.cuMemsetD32Async(out, 1, 1, stream)
        assert cuda.code("cuStreamQuery", stream) == NOT_READY
    word(flag).value = 1
    for stream in (second, third):
        cuda.cuStreamSynchronize(stream)
    assert cuda.code("cuEventQuery", event) == SUCCESS
    cuda.cuCtxWaitEvent(context, event)  # nothing to wait for
    fourth = cuda.stream(NON_BLOCKING)
    assert cuda.code("cuStreamQuery", fourth) == SUCCESS
    for stream in (first, second, third, fourth):
        cuda.cuStreamDestroy_v2(stream)
    cuda.cuEventDestroy_v2(event)
    cuda.cuMemFreeHost(c_void_p(flag))
    cuda.cuMemFree_v2(out)


def test_waits_of_a_context_that_are_wrong(cuda):
    context, event = c_void_p(), cuda.event(2)
    cuda.cuCtxGetCurrent(byref(context))
    assert cuda.code("cuCtxWaitEvent", context, 0) == INVALID_HANDLE
    cuda.cuEventDestroy_v2(event)


def test_two_waits_of_a_context(cuda, kernel, own):
    flags, context = [cuda.pinned(4), cuda.pinned(4)], c_void_p()
    cuda.cuCtxGetCurrent(byref(context))
    streams, events = [cuda.stream(NON_BLOCKING) for _ in flags], [cuda.event(2) for _ in flags]
    for flag, stream, event in zip(flags, streams, events, strict=True):
        cuda.launch(kernel("wait_flag"), 1, 1, c_uint64(flag), stream=stream)
        cuda.cuEventRecord(event, stream)
    for event in events:
        cuda.cuCtxWaitEvent(context, event)
    late = cuda.stream(NON_BLOCKING)
    for flag in reversed(flags):
        assert cuda.code("cuStreamQuery", late) == NOT_READY
        word(flag).value = 1
    cuda.cuStreamSynchronize(late)
    for stream in (*streams, late):
        cuda.cuStreamDestroy_v2(stream)
    for flag, event in zip(flags, events, strict=True):
        cuda.cuEventDestroy_v2(event)
        cuda.cuMemFreeHost(c_void_p(flag))
