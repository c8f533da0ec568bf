"""Managed memory: prefetching and advice."""

import ctypes
from ctypes import byref, c_int, c_uint64

import pytest
from driver_abi import *

CONCURRENT_MANAGED_ACCESS = 89
HOST = -1  # CU_DEVICE_CPU
DEVICE_LOCATION, HOST_LOCATION = 1, 2
SET_READ_MOSTLY, SET_PREFERRED, UNSET_PREFERRED, SET_ACCESSED_BY, UNSET_ACCESSED_BY = 1, 3, 4, 5, 6


class Location(ctypes.Structure):
    _fields_ = (("type", c_int), ("id", c_int))


@pytest.fixture
def managed(cuda):
    value = c_int()
    cuda.cuDeviceGetAttribute(byref(value), CONCURRENT_MANAGED_ACCESS, 0)
    if not value.value:
        pytest.skip("the device has no concurrent managed access")
    pointer = c_uint64()
    cuda.cuMemAllocManaged(byref(pointer), 1 << 16, 1)
    yield pointer.value
    cuda.cuMemFree_v2(pointer)


@pytest.mark.parametrize("suffix", ["", "_ptsz"])
def test_prefetch(cuda, managed, suffix):
    cuda.cuMemsetD8_v2(managed, 7, 1 << 16)
    for device in (0, HOST):
        cuda.code(f"cuMemPrefetchAsync{suffix}", managed, 1 << 16, device, 0)
        cuda.cuCtxSynchronize()
        assert ctypes.string_at(managed, 1 << 16) == b"\7" * (1 << 16)
    name = f"cuMemPrefetchAsync_v2{suffix}"
    for place in (Location(DEVICE_LOCATION, 0), Location(HOST_LOCATION, 0)):
        assert cuda.code(name, managed, 1 << 16, place, 0, 0) == SUCCESS


def test_prefetch_misuse(cuda, managed):
    assert cuda.code("cuMemPrefetchAsync", managed, 0, 0, 0) == INVALID_VALUE
    assert cuda.code("cuMemPrefetchAsync", managed, 1 << 16, 99, 0) == INVALID_DEVICE
    assert cuda.code("cuMemPrefetchAsync", 0, 16, 0, 0) == INVALID_VALUE
    plain = cuda.alloc(16)
    assert cuda.code("cuMemPrefetchAsync", plain, 16, 0, 0) == INVALID_VALUE
    cuda.cuMemFree_v2(plain)


def test_prefetch_beyond_the_end(cuda, managed, own):
    assert cuda.code("cuMemPrefetchAsync", managed + 100, 1 << 16, 0, 0) == INVALID_VALUE


def test_advice(cuda, managed):
    for advice in (SET_READ_MOSTLY, SET_PREFERRED, UNSET_PREFERRED, SET_ACCESSED_BY):
        cuda.cuMemAdvise(managed, 1 << 16, advice, 0)
        place = Location(DEVICE_LOCATION, 0)
        assert cuda.code("cuMemAdvise_v2", managed, 1 << 16, advice, place) == SUCCESS
    cuda.cuMemAdvise(managed, 1 << 16, UNSET_ACCESSED_BY, 0)
    cuda.cuMemAdvise(managed, 1 << 16, SET_PREFERRED, HOST)
    assert cuda.code("cuMemAdvise", managed, 1 << 16, 99, 0) == INVALID_VALUE
    assert cuda.code("cuMemAdvise", managed, 1 << 16, SET_ACCESSED_BY, 99) == INVALID_DEVICE
    for advice, place in [
        (SET_PREFERRED, Location(DEVICE_LOCATION, 99)),
        (SET_PREFERRED, Location(0, 0)),
        (SET_READ_MOSTLY, Location(0, 0)),
    ]:
        assert cuda.code("cuMemAdvise_v2", managed, 1 << 16, advice, place) == INVALID_VALUE
    plain = cuda.alloc(16)
    assert cuda.code("cuMemAdvise", plain, 16, SET_READ_MOSTLY, 0) == INVALID_VALUE
    cuda.cuMemFree_v2(plain)


def test_an_integrated_device(passes, own):
    """Its rules are those of cuda.h for a device without concurrent managed access."""
    passes(
        """
        integrated, concurrent, direct = 18, 89, 101
        value, pointer = c_int(), c_uint64()
        for attribute, expected in ((integrated, 1), (concurrent, 0), (direct, 0), (83, 1)):
            cuda.cuDeviceGetAttribute(byref(value), attribute, 0)
            assert value.value == expected, attribute
        cuda.cuMemAllocManaged(byref(pointer), 64, 1)
        cuda.cuMemsetD8_v2(pointer, 7, 64)
        cuda.cuCtxSynchronize()
        assert ctypes.string_at(pointer.value, 64) == b"\\7" * 64
        host, read_mostly, preferred, accessed_by = -1, 1, 3, 5
        for place in (0, host):
            assert cuda.code("cuMemPrefetchAsync", pointer, 64, place, 0) == INVALID_DEVICE
        for advice in (preferred, accessed_by):
            assert cuda.code("cuMemAdvise", pointer, 64, advice, 0) == INVALID_DEVICE
            assert cuda.code("cuMemAdvise", pointer, 64, advice, host) == SUCCESS
        assert cuda.code("cuMemAdvise", pointer, 64, read_mostly, 0) == SUCCESS
        assert cuda.code("cuMemPrefetchAsync", 0, 64, 0, 0) == INVALID_VALUE
    """,
        CUPOLA_CPU_INTEGRATED="1",
    )
