"""Memory: allocation and its bounds, what a pointer is, pinned, registered and managed memory."""

import ctypes
import mmap
from ctypes import byref, c_bool, c_int, c_size_t, c_uint, c_uint64, c_void_p

import pytest
from driver_abi import *

CONTEXT, MEMORY_TYPE, DEVICE_POINTER, HOST_POINTER, IS_MANAGED, ORDINAL = 1, 2, 3, 4, 8, 9
RANGE_START, RANGE_SIZE, MEMPOOL = 11, 12, 17


def free_bytes(cuda):
    free, total = c_size_t(), c_size_t()
    cuda.cuMemGetInfo_v2(byref(free), byref(total))
    return free.value


def attribute(cuda, kind, which, pointer):
    value = kind()
    cuda.cuPointerGetAttribute(byref(value), which, pointer)
    return value.value


def test_contents_come_back(cuda):
    pointer = cuda.alloc(1000)
    there = bytes(range(250)) * 4
    cuda.cuMemcpyHtoD_v2(pointer, there, 1000)
    assert bytes(cuda.read(pointer, 1000, ctypes.c_ubyte)) == there
    cuda.cuMemFree_v2(pointer)


def test_unsuffixed_names_take_64_bits(cuda, own):
    """As a ctypes script calls them that was written from the manual's signatures."""
    pointer, back = c_void_p(), (c_uint * 4)()
    cuda.library.cuMemAlloc.argtypes = [c_void_p, c_size_t]
    assert cuda.library.cuMemAlloc(byref(pointer), 16) == SUCCESS
    assert pointer.value
    data = (c_uint * 4)(1, 2, 3, 4)
    assert cuda.library.cuMemcpyHtoD(pointer, data, c_size_t(16)) == SUCCESS
    assert cuda.library.cuMemcpyDtoH(back, pointer, 16) == SUCCESS
    assert list(back) == [1, 2, 3, 4]
    assert cuda.library.cuMemFree(pointer) == SUCCESS


def test_allocations_are_aligned(cuda):
    pointers = [cuda.alloc(n) for n in (1, 3, 100, 5000, 3 << 20)]
    assert all(pointer % 256 == 0 for pointer in pointers)
    for pointer in pointers:
        cuda.cuMemFree_v2(pointer)


def test_nothing_of_no_size(cuda):
    assert cuda.code("cuMemAlloc_v2", byref(c_uint64()), 0) == INVALID_VALUE
    assert cuda.code("cuMemAllocManaged", byref(c_uint64()), 0, 1) == INVALID_VALUE
    for name in ("cuMemHostAlloc", "cuMemAllocAsync"):  # succeed, and give null
        out = c_uint64(1)
        cuda.code(name, byref(out), 0, 0)
        assert out.value == 0
    cuda.cuMemFreeAsync(0, 0)


def test_freeing(cuda):
    cuda.cuMemFree_v2(0)
    pointer = cuda.alloc(4096)
    assert cuda.code("cuMemFree_v2", pointer + 512) == INVALID_VALUE
    cuda.cuMemFree_v2(pointer)
    assert cuda.code("cuMemFree_v2", pointer) == INVALID_VALUE


def test_more_pieces_than_the_system_maps(passes, own):
    """Freeing every other one leaves as many holes; all is given back in the end."""
    passes(
        """
        from pathlib import Path

        def pieces():
            return len(Path("/proc/self/maps").read_text().splitlines())

        count = 2 * min(int(Path("/proc/sys/vm/max_map_count").read_text()), 70_000) + 2000
        before = pieces()
        pointers = [cuda.alloc(16) for _ in range(count)]
        for pointer in pointers[::2]:
            cuda.cuMemFree_v2(pointer)
        again = [cuda.alloc(16) for _ in range(1000)]
        for pointer in [*pointers[1::2], *again]:
            cuda.cuMemFree_v2(pointer)
        assert pieces() < before + 500, (before, pieces())
        """
    )


def test_memory_info_follows(cuda):
    before = free_bytes(cuda)
    pointer = cuda.alloc(64 << 20)
    after = free_bytes(cuda)
    cuda.cuMemFree_v2(pointer)
    if cuda.on_hardware:  # the memory is other processes' too, who allocate and free at any time
        return
    assert before - after >= 64 << 20
    assert free_bytes(cuda) == before


def test_out_of_memory(cuda):
    free, total = c_size_t(), c_size_t()
    cuda.cuMemGetInfo_v2(byref(free), byref(total))
    out = c_uint64()
    assert cuda.code("cuMemAlloc_v2", byref(out), total.value + 1) == OUT_OF_MEMORY
    assert cuda.code("cuMemAlloc_v2", byref(out), 2**63) == OUT_OF_MEMORY
    assert cuda.code("cuMemAllocAsync", byref(out), 2**62, 0) == OUT_OF_MEMORY
    cuda.cuMemFree_v2(cuda.alloc(4096))


def test_many_small_allocations_stay_within_the_bound(cuda, own):
    pointers, size = [], free_bytes(cuda) // 5
    out = c_uint64()
    while (code := cuda.code("cuMemAlloc_v2", byref(out), size)) == SUCCESS:
        pointers.append(out.value)
        assert len(pointers) <= 5
    assert code == OUT_OF_MEMORY and len(pointers) >= 4
    for pointer in pointers:
        cuda.cuMemFree_v2(pointer)


def test_pitch(cuda):
    pointer, pitch = c_uint64(), c_size_t()
    cuda.cuMemAllocPitch_v2(byref(pointer), byref(pitch), 100, 7, 4)
    assert pitch.value >= 100 and pitch.value % 32 == 0
    cuda.cuMemsetD8_v2(pointer, 1, pitch.value * 7)
    cuda.cuMemFree_v2(pointer)
    assert cuda.code("cuMemAllocPitch_v2", byref(pointer), byref(pitch), 100, 7, 3) == INVALID_VALUE
    huge = (1 << 40, 1 << 20, 4)
    assert cuda.code("cuMemAllocPitch_v2", byref(pointer), byref(pitch), *huge) == OUT_OF_MEMORY


def test_address_range(cuda):
    pointer, base, size = cuda.alloc(1000), c_uint64(), c_size_t()
    cuda.cuMemGetAddressRange_v2(byref(base), byref(size), pointer + 999)
    assert (base.value, size.value) == (pointer, 1000)
    cuda.cuMemFree_v2(pointer)
    assert cuda.code("cuMemGetAddressRange_v2", byref(base), byref(size), pointer) in (1, NOT_FOUND)


def test_pointer_attributes(cuda):
    context = c_void_p()
    cuda.cuCtxGetCurrent(byref(context))
    pointer = cuda.alloc(1000)
    assert attribute(cuda, c_void_p, CONTEXT, pointer) == context.value
    assert attribute(cuda, c_uint, MEMORY_TYPE, pointer) == 2
    assert attribute(cuda, c_uint64, DEVICE_POINTER, pointer + 8) == pointer + 8
    assert attribute(cuda, c_int, ORDINAL, pointer) == 0
    assert attribute(cuda, c_bool, IS_MANAGED, pointer) is False
    assert attribute(cuda, c_uint64, RANGE_START, pointer + 8) == pointer
    assert attribute(cuda, c_size_t, RANGE_SIZE, pointer + 8) == 1000
    cuda.cuMemFree_v2(pointer)


def test_attributes_of_a_foreign_pointer(cuda):
    here = ctypes.create_string_buffer(16)
    value, ordinal, kind, host = c_void_p(1), c_int(), c_uint(7), c_void_p(1)
    where = ctypes.addressof(here)
    assert cuda.code("cuPointerGetAttribute", byref(kind), MEMORY_TYPE, where) == INVALID_VALUE
    which = (c_int * 4)(CONTEXT, ORDINAL, MEMORY_TYPE, HOST_POINTER)
    data = (c_void_p * 4)(*(ctypes.addressof(a) for a in (value, ordinal, kind, host)))
    cuda.cuPointerGetAttributes(4, which, data, where)
    assert (value.value, ordinal.value, kind.value, host.value) == (None, -2, 0, where)


def test_pinned_memory(cuda):
    pointer, flags, device = c_void_p(), c_uint(), c_uint64()
    cuda.cuMemHostAlloc(byref(pointer), 4096, 4)
    cuda.cuMemHostGetFlags(byref(flags), pointer)
    assert flags.value & 4
    cuda.cuMemHostGetDevicePointer_v2(byref(device), pointer, 0)
    assert attribute(cuda, c_uint, MEMORY_TYPE, pointer.value) == 1
    assert attribute(cuda, c_void_p, HOST_POINTER, pointer.value) == pointer.value
    assert cuda.code("cuMemFree_v2", pointer) == INVALID_VALUE
    cuda.cuMemFreeHost(pointer)
    assert cuda.code("cuMemFreeHost", pointer) == INVALID_VALUE
    assert cuda.code("cuMemHostAlloc", byref(pointer), 16, 0x100) == INVALID_VALUE


def test_registered_memory(cuda):
    here = ctypes.create_string_buffer(3 * 4096)
    pointer = (ctypes.addressof(here) + 4095) // 4096 * 4096
    flags = c_uint()
    for asked, told in [(1, 3), (0, 2)]:  # the memory is always mapped
        cuda.cuMemHostRegister_v2(pointer, 4096, asked)
        cuda.cuMemHostGetFlags(byref(flags), pointer)
        assert flags.value == told
        if asked:
            cuda.cuMemHostUnregister(pointer)
    assert cuda.code("cuMemHostRegister_v2", pointer, 4096, 0) == ALREADY_REGISTERED
    assert attribute(cuda, c_uint, MEMORY_TYPE, pointer) == 1
    cuda.cuMemHostUnregister(pointer)
    assert cuda.code("cuMemHostUnregister", pointer) == NOT_REGISTERED
    assert cuda.code("cuMemHostRegister_v2", pointer, 0, 0) == INVALID_VALUE


def test_registering_what_is_not_there(cuda):
    gone = mmap.mmap(-1, 1 << 20)
    where = ctypes.addressof(ctypes.c_char.from_buffer(gone))
    gone.close()
    assert cuda.code("cuMemHostRegister_v2", where, 4096, 0) == INVALID_VALUE


def test_managed_memory_is_read_by_the_host(cuda, kernel):
    pointer = c_uint64()
    cuda.cuMemAllocManaged(byref(pointer), 64, 1)
    assert attribute(cuda, c_bool, IS_MANAGED, pointer.value) is True
    cuda.launch(kernel("store"), 1, 16, pointer, c_uint(9))
    cuda.cuCtxSynchronize()
    assert list((c_uint * 16).from_address(pointer.value)) == [9] * 16
    cuda.cuMemFree_v2(pointer)
    assert cuda.code("cuMemAllocManaged", byref(pointer), 64, 9) == INVALID_VALUE


def test_freeing_waits_for_the_kernel_that_uses_it(cuda, kernel, own):
    flag, pointer = cuda.pinned(4), cuda.alloc(256)
    cuda.launch(kernel("wait_flag"), 1, 1, c_uint64(flag))
    cuda.launch(kernel("store"), 1, 64, c_uint64(pointer), c_uint(1))
    import threading

    timer = threading.Timer(0.05, lambda: setattr(word(flag), "value", 1))
    timer.start()
    cuda.cuMemFree_v2(pointer)
    assert word(flag).value == 1
    cuda.cuCtxSynchronize()
    cuda.cuMemFreeHost(flag)


# ---- pools -------------------------------------------------------------------------------


def pool_value(cuda, pool, which):
    value = c_uint64()
    cuda.cuMemPoolGetAttribute(pool, which, byref(value))
    return value.value


RESERVED, USED, THRESHOLD = 5, 7, 4


@pytest.fixture
def pool(cuda):
    class Properties(ctypes.Structure):
        _fields_ = [
            ("kind", c_int),
            ("handles", c_int),
            ("location", c_int),
            ("id", c_int),
            ("security", c_void_p),
            ("most", c_size_t),
            ("rest", ctypes.c_ubyte * 56),
        ]

    pool = c_void_p()
    cuda.cuMemPoolCreate(byref(pool), byref(Properties(kind=1, location=1)))
    yield pool
    cuda.cuCtxSynchronize()
    cuda.cuMemPoolDestroy(pool)


def test_stream_ordered_memory(cuda, kernel):
    stream, pointer = cuda.stream(NON_BLOCKING), c_uint64()
    cuda.cuMemAllocAsync(byref(pointer), 256, stream)
    cuda.launch(kernel("store"), 1, 64, pointer, c_uint(5), stream=stream)
    cuda.cuStreamSynchronize(stream)
    assert cuda.read(pointer.value, 64) == [5] * 64
    cuda.cuMemFreeAsync(pointer, stream)
    cuda.cuStreamSynchronize(stream)
    assert cuda.code("cuMemFreeAsync", pointer, stream) == INVALID_VALUE
    cuda.cuStreamDestroy_v2(stream)


def test_pool_counts(cuda, pool):
    stream, pointer = cuda.stream(), c_uint64()
    cuda.cuMemAllocFromPoolAsync(byref(pointer), 1 << 20, pool, stream)
    assert pool_value(cuda, pool, USED) == 1 << 20
    assert pool_value(cuda, pool, RESERVED) >= 1 << 20
    assert attribute(cuda, c_void_p, MEMPOOL, pointer.value) == pool.value
    cuda.cuMemFreeAsync(pointer, stream)
    cuda.cuStreamSynchronize(stream)
    assert pool_value(cuda, pool, USED) == 0
    cuda.cuMemPoolTrimTo(pool, 0)
    assert pool_value(cuda, pool, RESERVED) == 0
    cuda.cuStreamDestroy_v2(stream)


def test_threshold_keeps_memory(cuda, pool):
    stream, pointer = cuda.stream(), c_uint64()
    cuda.cuMemPoolSetAttribute(pool, THRESHOLD, byref(c_uint64(2**64 - 1)))
    cuda.cuMemAllocFromPoolAsync(byref(pointer), 1 << 20, pool, stream)
    cuda.cuMemFreeAsync(pointer, stream)
    cuda.cuStreamSynchronize(stream)
    assert pool_value(cuda, pool, RESERVED) >= 1 << 20
    cuda.cuStreamDestroy_v2(stream)


def test_one_stream_reuses_without_waiting(cuda, pool, kernel, own):
    """The second allocation takes the first's place though the stream has not come to the free."""
    flag, stream = cuda.pinned(4), cuda.stream(NON_BLOCKING)
    first, second, third = c_uint64(), c_uint64(), c_uint64()
    cuda.launch(kernel("wait_flag"), 1, 1, c_uint64(flag), stream=stream)
    cuda.cuMemAllocFromPoolAsync(byref(first), 4096, pool, stream)
    cuda.cuMemFreeAsync(first, stream)
    cuda.cuMemAllocFromPoolAsync(byref(second), 4096, pool, stream)
    assert second.value == first.value
    cuda.cuMemFreeAsync(second, stream)
    other = cuda.stream(NON_BLOCKING)
    cuda.cuMemAllocFromPoolAsync(byref(third), 4096, pool, other)
    assert third.value != first.value
    word(flag).value = 1
    cuda.cuMemFreeAsync(third, other)
    cuda.cuStreamSynchronize(stream)
    for each in (stream, other):
        cuda.cuStreamDestroy_v2(each)
    cuda.cuMemFreeHost(flag)


def test_default_pool_stays(cuda):
    pool, same = c_void_p(), c_void_p()
    cuda.cuDeviceGetDefaultMemPool(byref(pool), 0)
    cuda.cuDeviceGetMemPool(byref(same), 0)
    assert pool.value == same.value
    assert cuda.code("cuMemPoolDestroy", pool) == INVALID_VALUE
