"""Copies and fills of memory that the host reads: the call returns when they are done."""

import ctypes
import threading
from ctypes import byref, c_uint64, c_void_p

import pytest
from driver_abi import *

FILLS = {
    "cuMemsetD8_v2": (3, 64),
    "cuMemsetD16_v2": (3, 32),
    "cuMemsetD32_v2": (3, 16),
    "cuMemsetD2D8_v2": (32, 3, 16, 4),
    "cuMemsetD2D16_v2": (32, 3, 8, 4),
    "cuMemsetD2D32_v2": (32, 3, 4, 4),
}


@pytest.fixture
def readable(cuda):
    """Addresses of memory by its kind."""
    taken, host, managed = cuda.alloc(4096), cuda.pinned(4096), c_uint64()
    pages = ctypes.create_string_buffer(3 * 4096)
    registered = (ctypes.addressof(pages) + 4095) & ~4095
    cuda.cuMemAllocManaged(byref(managed), 4096, 1)
    cuda.cuMemHostRegister_v2(c_void_p(registered), 4096, 0)
    yield {"device": taken, "pinned": host, "registered": registered, "managed": managed.value}
    cuda.cuCtxSynchronize()
    cuda.cuMemFree_v2(taken)
    cuda.cuMemFree_v2(managed)
    cuda.cuMemFreeHost(c_void_p(host))
    cuda.cuMemHostUnregister(c_void_p(registered))


def returns_before_it_is_done(cuda, call):
    """Whether a call in the legacy stream returns while the stream waits."""
    held, returned = cuda.pinned(64), []
    blocking = cuda.stream()
    cuda.cuStreamWaitValue32_v2(blocking, held, 1, 1)
    context = c_void_p()
    cuda.cuCtxGetCurrent(byref(context))

    def run():
        cuda.cuCtxSetCurrent(context)
        call()
        returned.append(True)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(0.1)
    early = bool(returned)
    word(held).value = 1
    thread.join()
    cuda.cuStreamDestroy_v2(blocking)
    cuda.cuMemFreeHost(c_void_p(held))
    return early


@pytest.mark.parametrize("kind", ["device", "pinned", "registered", "managed"])
@pytest.mark.parametrize("name", FILLS)
def test_a_fill_of_host_readable_memory_is_synchronous(cuda, readable, kind, name):
    early = returns_before_it_is_done(
        cuda, lambda: getattr(cuda, name)(readable[kind], *FILLS[name])
    )
    assert early == (kind == "device")
    if not early:
        assert ctypes.string_at(readable[kind], 1) == b"\x03"


def test_an_asynchronous_fill_of_host_readable_memory_returns_early(cuda, readable):
    for kind in readable:
        assert returns_before_it_is_done(
            cuda, lambda kind=kind: cuda.cuMemsetD8Async(readable[kind], 3, 64, LEGACY)
        )


@pytest.mark.parametrize("kind", ["device", "pinned", "registered", "managed"])
def test_a_copy_to_host_readable_memory_is_synchronous(cuda, readable, kind):
    source = cuda.alloc(64)
    early = returns_before_it_is_done(
        cuda, lambda: cuda.cuMemcpyDtoD_v2(readable[kind], source, 64)
    )
    assert early == (kind == "device")
    cuda.cuMemFree_v2(source)
