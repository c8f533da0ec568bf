"""Copies and fills: every form, and every range checked."""

import ctypes
from ctypes import byref, c_ubyte, c_uint, c_uint64, c_ushort, c_void_p

import pytest
from driver_abi import *

from .texture import Copy2D, Copy3D

HOST, DEVICE, ARRAY, UNIFIED = 1, 2, 3, 4


@pytest.fixture
def memory(cuda):
    """Two stretches of 1024 bytes of device memory."""
    pair = cuda.alloc(1024), cuda.alloc(1024)
    yield pair
    cuda.cuCtxSynchronize()
    for pointer in pair:
        cuda.cuMemFree_v2(pointer)


def numbers(n):
    return bytes(i * 7 % 251 for i in range(n))


@pytest.mark.parametrize("size", [0, 1, 3, 1024])
@pytest.mark.parametrize("suffix", ["", "_ptds"])
def test_a_copy_to_the_device_and_back_keeps_the_data(cuda, memory, size, suffix):
    a, b = memory
    out = ctypes.create_string_buffer(1024)
    cuda.cuMemsetD8_v2(b, 0xEE, 1024)
    cuda.code(f"cuMemcpyHtoD_v2{suffix}", a, numbers(size), size)
    cuda.code(f"cuMemcpyDtoD_v2{suffix}", b, a, size)
    cuda.code(f"cuMemcpyDtoH_v2{suffix}", out, b, size)
    assert out.raw == numbers(size) + bytes(1024 - size)


def test_unified_copy_between_host_and_host(cuda):
    source, out = ctypes.create_string_buffer(numbers(100)), ctypes.create_string_buffer(100)
    cuda.cuMemcpy(ctypes.addressof(out), ctypes.addressof(source), 100)
    assert out.raw == numbers(100)


def test_asynchronous_copies_run_in_order(cuda, memory):
    a, b = memory
    stream, pinned = cuda.stream(), cuda.pinned(2048)
    ctypes.memmove(pinned, numbers(1024), 1024)
    cuda.cuMemcpyHtoDAsync_v2(a, pinned, 1024, stream)
    cuda.cuMemcpyDtoDAsync_v2(b, a, 1024, stream)
    cuda.cuMemcpyDtoHAsync_v2(pinned + 1024, b, 1024, stream)
    cuda.cuStreamSynchronize(stream)
    assert ctypes.string_at(pinned + 1024, 1024) == numbers(1024)
    cuda.cuStreamDestroy_v2(stream)
    cuda.cuMemFreeHost(pinned)


def test_a_pageable_source_is_read_at_the_call(cuda, memory, kernel):
    """The source is overwritten while the copy waits in the stream."""
    flag, stream = cuda.pinned(4), cuda.stream(NON_BLOCKING)
    source = ctypes.create_string_buffer(numbers(1024), 1024)
    cuda.launch(kernel("wait_flag"), 1, 1, c_uint64(flag), stream=stream)
    cuda.cuMemcpyHtoDAsync_v2(memory[0], source, 1024, stream)
    ctypes.memset(source, 0, 1024)
    assert cuda.code("cuStreamQuery", stream) == NOT_READY
    word(flag).value = 1
    cuda.cuStreamSynchronize(stream)
    assert bytes(cuda.read(memory[0], 1024, c_ubyte)) == numbers(1024)
    cuda.cuStreamDestroy_v2(stream)
    cuda.cuMemFreeHost(flag)


def test_large_pageable_copies(cuda):
    size = 3 << 20
    pointer, stream = cuda.alloc(size), cuda.stream()
    there, back = numbers(1 << 20) * 3, ctypes.create_string_buffer(size)
    cuda.cuMemcpyHtoDAsync_v2(pointer, there, size, stream)
    cuda.cuMemcpyDtoHAsync_v2(back, pointer, size, stream)
    cuda.cuStreamSynchronize(stream)
    assert back.raw == there
    cuda.cuStreamDestroy_v2(stream)
    cuda.cuMemFree_v2(pointer)


def test_ranges_are_checked(cuda, own):
    pointer, there = cuda.alloc(1000), ctypes.create_string_buffer(2000)
    for size, offset in ((1001, 0), (1, 1000), (2**63, 0), (8, 993)):
        assert cuda.code("cuMemcpyHtoD_v2", pointer + offset, there, size) == INVALID_VALUE
        assert cuda.code("cuMemcpyDtoH_v2", there, pointer + offset, size) == INVALID_VALUE
        assert cuda.code("cuMemsetD8_v2", pointer + offset, 0, size) == INVALID_VALUE
    cuda.cuMemFree_v2(pointer)
    assert cuda.code("cuMemcpyHtoD_v2", pointer, there, 8) == INVALID_VALUE


def test_a_null_pointer_is_refused(cuda, memory):
    there = ctypes.create_string_buffer(8)
    assert cuda.code("cuMemcpyHtoD_v2", 0, there, 8) == INVALID_VALUE
    assert cuda.code("cuMemcpyHtoD_v2", memory[0], c_void_p(), 8) == INVALID_VALUE
    assert cuda.code("cuMemcpyDtoH_v2", c_void_p(), memory[0], 8) == INVALID_VALUE
    assert cuda.code("cuMemsetD8_v2", 0, 0, 8) == INVALID_VALUE


@pytest.mark.parametrize(
    "bits, kind, value", [(8, c_ubyte, 0xA5), (16, c_ushort, 0xA55A), (32, c_uint, 0xA55AC33C)]
)
@pytest.mark.parametrize("form", ["_v2", "Async", "_v2_ptds", "Async_ptsz"])
def test_fills(cuda, memory, bits, kind, value, form):
    pointer, size = memory[0], bits // 8
    cuda.cuMemsetD8_v2(pointer, 0, 1024)
    stream = (0,) if "Async" in form else ()
    cuda.code(f"cuMemsetD{bits}{form}", pointer + size, value, 100, *stream)
    cuda.cuCtxSynchronize()
    assert cuda.read(pointer, 102, kind) == [0] + [value] * 100 + [0]


@pytest.mark.parametrize("bits, kind", [(8, c_ubyte), (16, c_ushort), (32, c_uint)])
def test_rectangular_fills(cuda, memory, bits, kind):
    pointer, size = memory[0], bits // 8
    cuda.cuMemsetD8_v2(pointer, 0, 1024)
    getattr(cuda, f"cuMemsetD2D{bits}_v2")(pointer, 8 * size, 3, 5, 4)
    assert cuda.read(pointer, 32, kind) == ([3] * 5 + [0] * 3) * 4
    assert cuda.code(f"cuMemsetD2D{bits}_v2", pointer, 4 * size, 3, 5, 4) == INVALID_VALUE


def test_misaligned_fill(cuda, memory):
    assert cuda.code("cuMemsetD32_v2", memory[0] + 2, 0, 1) == INVALID_VALUE
    assert cuda.code("cuMemsetD16_v2", memory[0] + 1, 0, 1) == INVALID_VALUE


def test_rectangle(cuda, memory):
    there = ctypes.create_string_buffer(numbers(200), 200)
    back = ctypes.create_string_buffer(60)
    cuda.cuMemcpy2D_v2(
        byref(
            Copy2D(
                srcType=HOST,
                srcHost=ctypes.addressof(there),
                srcPitch=20,
                srcX=3,
                srcY=2,
                dstType=DEVICE,
                dstDevice=memory[0],
                dstPitch=32,
                dstX=1,
                dstY=1,
                width=10,
                height=6,
            )
        )
    )
    cuda.cuMemcpy2DUnaligned_v2(
        byref(
            Copy2D(
                srcType=UNIFIED,
                srcDevice=memory[0],
                srcPitch=32,
                srcX=1,
                srcY=1,
                dstType=HOST,
                dstHost=ctypes.addressof(back),
                dstPitch=10,
                width=10,
                height=6,
            )
        )
    )
    assert back.raw == b"".join(numbers(200)[20 * y + 3 : 20 * y + 13] for y in range(2, 8))


def test_rectangle_misuse(cuda, memory):
    good = dict(
        srcType=DEVICE,
        srcDevice=memory[0],
        srcPitch=32,
        dstType=DEVICE,
        dstDevice=memory[1],
        dstPitch=32,
        width=32,
        height=32,
    )
    cuda.cuMemcpy2D_v2(byref(Copy2D(**good)))
    for wrong in (dict(srcPitch=31), dict(srcType=9), dict(dstDevice=0)):
        assert cuda.code("cuMemcpy2D_v2", byref(Copy2D(**{**good, **wrong}))) == INVALID_VALUE


def test_rectangle_beyond_the_end(cuda, memory, own):
    what = Copy2D(
        srcType=DEVICE,
        srcDevice=memory[0],
        srcPitch=32,
        dstType=DEVICE,
        dstDevice=memory[1],
        dstPitch=32,
        width=32,
        height=33,
    )
    assert cuda.code("cuMemcpy2D_v2", byref(what)) == INVALID_VALUE


def test_box(cuda, memory):
    there, back = ctypes.create_string_buffer(numbers(240), 240), ctypes.create_string_buffer(24)
    cuda.cuMemcpyHtoD_v2(memory[0], there, 240)
    cuda.cuMemcpy3D_v2(
        byref(
            Copy3D(
                srcType=DEVICE,
                srcDevice=memory[0],
                srcPitch=10,
                srcHeight=6,
                srcX=2,
                srcY=1,
                srcZ=1,
                dstType=HOST,
                dstHost=ctypes.addressof(back),
                dstPitch=4,
                dstHeight=3,
                width=4,
                height=3,
                depth=2,
            )
        )
    )
    expected = b"".join(
        numbers(240)[60 * z + 10 * y + 2 : 60 * z + 10 * y + 6] for z in (1, 2) for y in (1, 2, 3)
    )
    assert back.raw == expected


def test_peer_copy_within_one_device(cuda, memory):
    context = c_void_p()
    cuda.cuCtxGetCurrent(byref(context))
    cuda.cuMemcpyHtoD_v2(memory[0], numbers(1024), 1024)
    cuda.cuMemcpyPeer(memory[1], context, memory[0], context, 1024)
    assert bytes(cuda.read(memory[1], 1024, c_ubyte)) == numbers(1024)


def test_copy_of_a_copy_in_order(cuda, memory):
    """DtoD does not wait, but what follows on the same stream sees it."""
    a, b = memory
    for value in range(50):
        cuda.cuMemsetD32_v2(a, value, 256)
        cuda.cuMemcpyDtoD_v2(b, a, 1024)
        assert cuda.read(b, 256) == [value] * 256


def rectangle(to, source):
    return Copy2D(
        srcType=DEVICE, srcDevice=source, srcPitch=1024, dstType=DEVICE, dstDevice=to,
        dstPitch=1024, width=1000, height=1024,
    )  # fmt: skip


SIZE = 1 << 20
WORK = {
    "copied to": lambda cuda, lost, kept, stream: cuda.cuMemcpyDtoDAsync_v2(
        lost, kept, SIZE, stream
    ),
    "copied from": lambda cuda, lost, kept, stream: cuda.cuMemcpyDtoDAsync_v2(
        kept, lost, SIZE, stream
    ),
    "copied from the host": lambda cuda, lost, kept, stream: cuda.cuMemcpyHtoDAsync_v2(
        lost, bytes(4096), 4096, stream
    ),
    "a rectangle": lambda cuda, lost, kept, stream: cuda.cuMemcpy2DAsync_v2(
        byref(rectangle(lost, kept)), stream
    ),
    "filled": lambda cuda, lost, kept, stream: cuda.cuMemsetD32Async(lost, 5, SIZE // 4, stream),
}


@pytest.mark.parametrize(
    "free", ["by another stream", "to its pool", "by another context", "with it"]
)
@pytest.mark.parametrize("work", WORK)
def test_a_copy_of_freed_memory_is_a_fault(cuda, own, work, free):
    """CUDA leaves it undefined. Here the work fails, and the process goes on."""
    mine, second, pool, lost = c_void_p(), c_void_p(), c_void_p(), c_uint64()
    cuda.cuCtxCreate_v2(byref(second), 0, 0)
    cuda.cuMemAlloc_v2(byref(lost), SIZE)  # memory of this context, unless it is a pool's
    cuda.cuCtxCreate_v2(byref(mine), 0, 0)
    stream, other, kept = cuda.stream(NON_BLOCKING), cuda.stream(NON_BLOCKING), cuda.alloc(SIZE)
    held = cuda.pinned(64)
    cuda.cuDeviceGetDefaultMemPool(byref(pool), 0)
    if free == "to its pool":
        cuda.cuMemAllocAsync(byref(lost), SIZE, other)
    cuda.cuStreamSynchronize(other)
    cuda.cuStreamWaitValue32_v2(stream, held, 1, 1)
    WORK[work](cuda, lost.value, kept, stream)
    if free == "by another context":
        cuda.cuCtxPushCurrent_v2(second)
        cuda.cuMemFree_v2(lost)
        cuda.cuCtxPopCurrent_v2(byref(c_void_p()))
    elif free == "with it":
        cuda.cuCtxDestroy_v2(second)
    else:
        cuda.cuMemFreeAsync(lost, other)
        cuda.cuStreamSynchronize(other)
        cuda.cuMemPoolTrimTo(pool, 0)
    word(held).value = 1
    assert cuda.code("cuStreamSynchronize", stream) == ILLEGAL_ADDRESS
    cuda.cuCtxDestroy_v2(mine)
    if free != "with it":
        cuda.cuCtxDestroy_v2(second)
    cuda.primary()
    cuda.cuDevicePrimaryCtxRelease_v2(0)


def test_memory_of_a_pool_may_be_freed_after_its_use_in_stream_order(cuda):
    """The free is called before the work runs, but follows it in the stream."""
    stream, held, memory, out = cuda.stream(), cuda.pinned(64), c_uint64(), cuda.pinned(64)
    cuda.cuMemAllocAsync(byref(memory), 64, stream)
    cuda.cuStreamWaitValue32_v2(stream, held, 1, 1)
    cuda.cuMemsetD32Async(memory, 9, 16, stream)
    cuda.cuMemcpyDtoHAsync_v2(c_void_p(out), memory, 64, stream)
    cuda.cuMemFreeAsync(memory, stream)
    word(held).value = 1
    cuda.cuStreamSynchronize(stream)
    assert word(out).value == 9
    cuda.cuStreamDestroy_v2(stream)
    cuda.cuMemFreeHost(c_void_p(held))
    cuda.cuMemFreeHost(c_void_p(out))
