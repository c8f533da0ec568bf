"""Pools of managed memory and of the host's, and which pool a place's memory comes from."""

import ctypes
import struct
from ctypes import byref, c_int, c_size_t, c_ubyte, c_uint, c_uint64, c_void_p

import pytest
from driver_abi import *

PINNED, MANAGED = 1, 2
NONE, DEVICE, HOST, NUMA, NUMA_CURRENT = range(5)
NO_ACCESS, READ_ONLY, READ_WRITE = 0, 1, 3
HOST_TYPE, DEVICE_TYPE = 1, 2


def properties(kind, where, number=0, handles=0, size=0, usage=0):
    data = struct.pack("iiiiQQH54x", kind, handles, where, number, 0, size, usage)
    return ctypes.create_string_buffer(data, len(data))


def location(where, number=0):
    return (c_int * 2)(where, number)


@pytest.fixture
def pools(cuda):
    """Makes pools, which end with the test."""
    made = []

    def make(kind, where):
        pool = c_void_p()
        cuda.cuMemPoolCreate(byref(pool), properties(kind, where))
        made.append(pool)
        return pool

    yield make
    cuda.cuCtxSynchronize()
    for pool in made:
        cuda.cuMemPoolDestroy(pool)


def taken(cuda, pool, size=4096):
    memory = c_uint64()
    cuda.cuMemAllocFromPoolAsync(byref(memory), size, pool, 0)
    cuda.cuCtxSynchronize()
    return memory.value


def access(cuda, pool, where, number=0):
    flags = c_int(-1)
    cuda.cuMemPoolGetAccess(byref(flags), pool, location(where, number))
    return flags.value


def set_access(cuda, pool, where, flags):
    return cuda.code("cuMemPoolSetAccess", pool, (c_int * 3)(where, 0, flags), 1)


def known(cuda, memory, attribute, kind=c_uint64):
    value = kind()
    code = cuda.code("cuPointerGetAttribute", byref(value), attribute, memory)
    return value.value if code == SUCCESS else None


@pytest.mark.parametrize("where", [NONE, DEVICE, HOST, NUMA, NUMA_CURRENT])
def test_managed_memory_of_a_pool(cuda, pools, kernel, where):
    pool = pools(MANAGED, where)
    memory = taken(cuda, pool)
    values = (c_uint * 32).from_address(memory)
    values[:] = range(32)
    cuda.launch(kernel("add1"), 1, 32, c_uint64(memory))
    cuda.cuCtxSynchronize()
    assert list(values) == list(range(1, 33))
    assert known(cuda, memory, 2, c_uint) == DEVICE_TYPE
    assert known(cuda, memory, 3) == known(cuda, memory, 4) == memory
    assert known(cuda, memory, 8, c_ubyte) == known(cuda, memory, 6, c_ubyte) == 1
    assert known(cuda, memory, 17) == pool.value
    cuda.cuMemPrefetchAsync_v2(memory, 4096, c_uint64(DEVICE), 0, 0)
    assert [access(cuda, pool, place) for place in (DEVICE, HOST, NUMA)] == [NO_ACCESS] * 3
    for place in (DEVICE, HOST):
        assert set_access(cuda, pool, place, READ_WRITE) == SUCCESS
    assert set_access(cuda, pool, DEVICE, READ_ONLY) == NOT_SUPPORTED
    cuda.cuMemFreeAsync(memory, 0)
    cuda.cuMemFree_v2(taken(cuda, pool))


def test_access_of_a_pools_own_device(cuda, pools):
    pool = pools(PINNED, DEVICE)
    assert set_access(cuda, pool, DEVICE, READ_WRITE) == SUCCESS
    assert set_access(cuda, pool, DEVICE, NO_ACCESS) == INVALID_DEVICE
    assert set_access(cuda, pool, DEVICE, READ_ONLY) == NOT_SUPPORTED
    assert set_access(cuda, pool, DEVICE, 99) == INVALID_VALUE  # no kind of access
    assert access(cuda, pool, DEVICE) == READ_WRITE


@pytest.mark.parametrize("where", [HOST, NUMA])
def test_memory_of_the_host_of_a_pool(cuda, pools, kernel, where):
    """A device has access to it when that was set."""
    pool, device = pools(PINNED, where), cuda.alloc(128)
    memory = taken(cuda, pool)
    values = (c_uint * 32).from_address(memory)
    values[:] = range(32)
    assert known(cuda, memory, 2, c_uint) == HOST_TYPE
    assert (known(cuda, memory, 3), known(cuda, memory, 4)) == (None, memory)
    assert known(cuda, memory, 8, c_ubyte) == 0 and known(cuda, memory, 17) == pool.value
    assert [access(cuda, pool, place) for place in (DEVICE, HOST, NUMA)] == [0, 3, 3]
    assert cuda.code("cuMemsetD8_v2", memory, 1, 64) == INVALID_VALUE
    assert cuda.code("cuMemcpyDtoD_v2", memory, device, 64) == INVALID_VALUE
    cuda.cuMemcpyHtoD_v2(device, c_void_p(memory), 128)
    cuda.launch(kernel("add1"), 1, 32, c_uint64(device))
    cuda.cuMemcpy(memory, device, 128)
    assert list(values) == list(range(1, 33))
    assert set_access(cuda, pool, HOST, NO_ACCESS) == NOT_SUPPORTED
    assert set_access(cuda, pool, DEVICE, READ_ONLY) == NOT_SUPPORTED
    cuda.code("cuMemPoolSetAccess", pool, (c_int * 3)(DEVICE, 0, READ_WRITE), 1)
    assert access(cuda, pool, DEVICE) == READ_WRITE
    assert known(cuda, memory, 3) == memory
    cuda.launch(kernel("add1"), 1, 32, c_uint64(memory))
    cuda.cuCtxSynchronize()
    assert list(values) == list(range(2, 34))
    assert known(cuda, taken(cuda, pool), 3) is not None  # later allocations of the pool, too
    cuda.cuMemFreeAsync(memory, 0)
    cuda.cuMemFree_v2(device)


def test_a_kernel_has_no_access_to_a_pool_of_the_hosts(passes):
    passes(
        """
        from cpu.test_pool_places import *
        pool = c_void_p()
        cuda.cuMemPoolCreate(byref(pool), properties(PINNED, HOST))
        memory = taken(cuda, pool)
        cuda.launch(cuda.function(cuda.module(), "add1"), 1, 32, c_uint64(memory))
        assert cuda.code("cuCtxSynchronize") == ILLEGAL_ADDRESS
    """
    )


def test_a_pool_of_the_hosts_takes_none_of_a_device(cuda, pools, own):
    free, after, total = c_size_t(), c_size_t(), c_size_t()
    cuda.cuMemGetInfo_v2(byref(free), byref(total))
    taken(cuda, pools(PINNED, HOST), 1 << 20)
    cuda.cuMemGetInfo_v2(byref(after), byref(total))
    assert after.value == free.value
    taken(cuda, pools(MANAGED, NONE), 1 << 20)
    cuda.cuMemGetInfo_v2(byref(after), byref(total))
    assert after.value < free.value


@pytest.mark.parametrize(
    "kind, where, more, code",
    [
        (0, DEVICE, {}, INVALID_VALUE),
        (3, DEVICE, {}, INVALID_VALUE),
        (PINNED, NONE, {}, INVALID_VALUE),
        (PINNED, NUMA_CURRENT, {}, INVALID_VALUE),
        (PINNED, 5, {}, INVALID_VALUE),
        (MANAGED, 5, {}, NOT_SUPPORTED),
        (PINNED, NUMA, {"number": 99}, INVALID_VALUE),
        (MANAGED, NUMA, {"number": 99}, INVALID_VALUE),
        (MANAGED, DEVICE, {"number": 99}, INVALID_VALUE),
        (PINNED, HOST, {"number": 99}, SUCCESS),  # a number that means nothing
        (MANAGED, NONE, {"number": 99}, SUCCESS),
        (PINNED, HOST, {"handles": 1}, INVALID_VALUE),
        (MANAGED, DEVICE, {"handles": 1}, INVALID_VALUE),
        (MANAGED, DEVICE, {"size": 1 << 26}, INVALID_VALUE),
        (MANAGED, NONE, {"usage": 2}, INVALID_VALUE),
        (PINNED, HOST, {"size": 1 << 26}, SUCCESS),
    ],
)
def test_which_pools_there_are(cuda, kind, where, more, code):
    """As NVIDIA's driver answers."""
    pool = c_void_p()
    assert cuda.code("cuMemPoolCreate", byref(pool), properties(kind, where, **more)) == code
    if code == SUCCESS:
        cuda.cuMemPoolDestroy(pool)


def current(cuda, kind, where, name="cuMemGetMemPool"):
    pool = c_void_p()
    getattr(cuda, name)(byref(pool), location(where), kind)
    return pool.value


@pytest.mark.parametrize(
    "kind, where",
    [(PINNED, DEVICE), (PINNED, HOST), (PINNED, NUMA), (MANAGED, NONE), (MANAGED, DEVICE)],
)
def test_the_pool_of_a_place(cuda, pools, kind, where):
    first = current(cuda, kind, where, "cuMemGetDefaultMemPool")
    device = c_void_p()
    cuda.cuDeviceGetDefaultMemPool(byref(device), 0)
    assert (first == device.value) == (kind == PINNED and where == DEVICE)
    assert current(cuda, kind, where) == first
    assert cuda.code("cuMemPoolDestroy", c_void_p(first)) == INVALID_VALUE
    cuda.cuMemFree_v2(taken(cuda, c_void_p(first)))
    mine = c_void_p()
    cuda.cuMemPoolCreate(byref(mine), properties(kind, where))
    cuda.cuMemSetMemPool(location(where), kind, mine)
    assert current(cuda, kind, where) == mine.value
    assert current(cuda, kind, where, "cuMemGetDefaultMemPool") == first
    other = MANAGED if kind == PINNED else PINNED
    for wrong in (pools(other, DEVICE), pools(MANAGED if where == HOST else PINNED, HOST)):
        assert cuda.code("cuMemSetMemPool", location(where), kind, wrong) == INVALID_VALUE
    assert cuda.code("cuMemSetMemPool", location(where), kind, None) == INVALID_VALUE
    cuda.cuMemPoolDestroy(mine)
    # cuda.h has the default one be it again; NVIDIA's driver leaves what is gone, but for devices.
    if not cuda.on_hardware or (kind == PINNED and where == DEVICE):
        assert current(cuda, kind, where) == first


def test_a_managed_pool_is_not_what_a_device_allocates_from(cuda, pools):
    managed, memory = pools(MANAGED, DEVICE), c_uint64()
    cuda.cuDeviceSetMemPool(0, managed)
    cuda.cuMemAllocAsync(byref(memory), 4096, 0)
    assert known(cuda, memory.value, 8, c_ubyte) == 0
    assert current(cuda, MANAGED, DEVICE) == managed.value != current(cuda, PINNED, DEVICE)
    assert cuda.code("cuDeviceSetMemPool", 0, pools(PINNED, HOST)) == INVALID_VALUE
    assert cuda.code("cuDeviceSetMemPool", 0, pools(MANAGED, NONE)) == INVALID_VALUE
    cuda.cuMemFree_v2(memory)


def test_the_host_has_no_access_to_a_devices_pool(cuda, pools):
    pool = pools(PINNED, DEVICE)
    assert [access(cuda, pool, place) for place in (DEVICE, HOST, NUMA)] == [3, 0, 0]
    assert set_access(cuda, pool, HOST, READ_WRITE) == NOT_SUPPORTED
    assert set_access(cuda, pool, DEVICE, NO_ACCESS) == INVALID_DEVICE


def test_places_without_pools(cuda):
    out = byref(c_void_p())
    for name in ("cuMemGetDefaultMemPool", "cuMemGetMemPool"):
        assert cuda.code(name, out, location(NONE), PINNED) == INVALID_VALUE
        assert cuda.code(name, out, location(DEVICE, 99), PINNED) == INVALID_VALUE
        assert cuda.code(name, out, location(NUMA, 99), MANAGED) == INVALID_VALUE
        assert cuda.code(name, out, location(NUMA_CURRENT), MANAGED) == NOT_SUPPORTED
        assert cuda.code(name, out, location(DEVICE), 0) == INVALID_VALUE
        assert cuda.code(name, None, location(DEVICE), PINNED) == INVALID_VALUE
        assert cuda.code(name, out, None, PINNED) == INVALID_VALUE


def test_a_graph_has_no_memory_of_the_hosts(cuda, pools):
    pool, stream, graph = pools(PINNED, HOST), cuda.stream(NON_BLOCKING), c_void_p()
    cuda.cuStreamBeginCapture_v2(stream, 2)
    refused = cuda.code("cuMemAllocFromPoolAsync", byref(c_uint64()), 4096, pool, stream)
    assert refused == NOT_SUPPORTED
    cuda.cuStreamEndCapture(stream, byref(graph))
    cuda.cuGraphDestroy(graph)
    cuda.cuStreamDestroy_v2(stream)
