"""Memory of other processes: what is shared, how it ends, and which bytes are refused."""

import os
import pathlib
import random
import threading
import time
from ctypes import byref, c_bool, c_uint, c_uint64, c_void_p

import pytest
from driver_abi import *

from .processes import (
    DISABLE_TIMING,
    INTERPROCESS,
    LAZY_PEER,
    LEGACY_IPC_CAPABLE,
    OWNER,
    Handle,
    opened,
    opened_event,
    other,
    shared,
    shared_event,
)
from .test_stream import flag, streams

__all__ = ["flag", "other", "shared", "streams"]


# ---- memory ---------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [4, 1000, 4096, 70_001, 5 << 20])
def test_two_processes_share_memory(cuda, shared, other, kernel, size):
    words = size // 4
    pointer, handle = shared(size)
    cuda.cuMemsetD32_v2(pointer, 7, words)
    cuda.cuCtxSynchronize()
    child = other(
        """
        pointer, again, size = opened(cuda, handle), opened(cuda, handle), c_size_t()
        assert pointer == again
        cuda.cuMemGetAddressRange_v2(None, byref(size), pointer)
        assert size.value >= int(hear())
        count = int(hear())
        assert cuda.read(pointer, count) == [7] * count
        cuda.cuIpcCloseMemHandle(pointer)
        cuda.cuMemsetD32_v2(pointer, 9, count)
        cuda.cuCtxSynchronize()
        cuda.cuIpcCloseMemHandle(pointer)
        say("done")
        """,
        handle,
    )
    child.say(str(size))
    child.say(str(words))
    assert child.end() == "done"
    assert cuda.read(pointer, words) == [9] * words


def test_sharing_memory_keeps_its_contents(cuda, shared, kernel):
    pointer = cuda.alloc(1 << 16)
    cuda.cuMemcpyHtoD_v2(pointer, (c_uint * 3)(1, 2, 3), 12)
    first, second = Handle(), Handle()
    if cuda.code("cuIpcGetMemHandle", byref(first), pointer) == NOT_SUPPORTED and cuda.on_hardware:
        pytest.skip("this system shares no device memory")
    cuda.cuIpcGetMemHandle(byref(first), pointer)
    cuda.cuIpcGetMemHandle(byref(second), pointer)
    assert cuda.read(pointer, 3) == [1, 2, 3]
    cuda.cuMemsetD32_v2(pointer, 5, 2)
    assert cuda.read(pointer, 3) == [5, 5, 3]
    cuda.cuMemFree_v2(pointer)


def test_memory_is_shared_under_load(cuda, own, kernel, streams):
    """No store of a running kernel is lost."""
    count, pointer = 1 << 18, cuda.alloc(4 << 18)
    load = [streams(NON_BLOCKING) for _ in range(3)]
    for value in range(1, 60):
        for place, stream in enumerate(load):
            part = count // 4
            cuda.cuMemsetD32Async(pointer + 4 * part * place, value, part, stream)
        if value == 20:
            cuda.cuIpcGetMemHandle(byref(Handle()), pointer)
    cuda.cuCtxSynchronize()
    values = cuda.read(pointer, count)
    assert values[: 3 * (count // 4)] == [59] * (3 * (count // 4))
    cuda.cuMemFree_v2(pointer)


BEGINS_AND_WAITS = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry begins_and_waits(.param .u64 p)
{
    .reg .pred %p0;
    .reg .b32 %r0;
    .reg .b64 %d0;
    ld.param.u64 %d0, [p];
    st.volatile.global.u32 [%d0+4], 1;
again:
    ld.volatile.global.u32 %r0, [%d0];
    setp.eq.s32 %p0, %r0, 0;
    @%p0 bra again;
    ret;
}
"""


def test_memory_is_shared_while_a_kernel_waits(cuda, own, streams):
    """The kernel waits for a store that follows the start of the call."""
    stream, handle, pointer, flag = streams(NON_BLOCKING), Handle(), cuda.alloc(64), cuda.pinned(8)
    function = cuda.function(cuda.module(BEGINS_AND_WAITS), "begins_and_waits")
    cuda.launch(function, 1, 1, c_uint64(flag), stream=stream)
    while word(flag + 4).value == 0:
        time.sleep(0.001)
    timer = threading.Timer(0.2, lambda: setattr(word(flag), "value", 1))
    timer.start()
    cuda.cuIpcGetMemHandle(byref(handle), pointer)
    assert word(flag).value == 1
    timer.join()
    cuda.cuStreamSynchronize(stream)
    cuda.cuMemFree_v2(pointer)
    cuda.cuMemFreeHost(flag)


def test_memory_without_a_handle_is_refused(cuda):
    handle, pooled, managed = Handle(), c_uint64(), c_uint64()
    plain = cuda.alloc(16)
    assert cuda.code("cuIpcGetMemHandle", None, plain) == INVALID_VALUE
    cuda.cuMemFree_v2(plain)
    assert cuda.code("cuIpcGetMemHandle", byref(handle), 16) != SUCCESS
    cuda.cuMemAllocAsync(byref(pooled), 64, 0)
    assert cuda.code("cuIpcGetMemHandle", byref(handle), pooled) != SUCCESS
    cuda.cuMemFreeAsync(pooled, 0)
    cuda.cuMemAllocManaged(byref(managed), 64, 1)
    assert cuda.code("cuIpcGetMemHandle", byref(handle), managed) != SUCCESS
    cuda.cuMemFree_v2(managed)


def test_an_attribute_says_whether_memory_can_be_shared(cuda, own):
    answer, pooled = c_bool(), c_uint64()
    pointer = cuda.alloc(16)
    cuda.cuPointerGetAttribute(byref(answer), LEGACY_IPC_CAPABLE, pointer)
    assert answer.value
    cuda.cuMemFree_v2(pointer)
    cuda.cuMemAllocAsync(byref(pooled), 64, 0)
    cuda.cuPointerGetAttribute(byref(answer), LEGACY_IPC_CAPABLE, pooled)
    assert not answer.value
    cuda.cuMemFreeAsync(pooled, 0)


def test_a_process_cannot_open_its_own_handle(cuda, shared, events):
    pointer, handle = shared(64)
    assert cuda.code("cuIpcOpenMemHandle_v2", byref(c_uint64()), handle, LAZY_PEER) != SUCCESS
    assert cuda.code("cuIpcCloseMemHandle", pointer) != SUCCESS
    cuda.cuMemsetD8_v2(pointer, 1, 64)


def test_misuse_of_handles_is_refused(cuda, own, shared, events):
    pointer, handle = shared(64)
    assert opened(cuda, handle, INVALID_CONTEXT) == 0
    assert cuda.code("cuIpcOpenMemHandle_v2", byref(c_uint64()), handle, 0) == INVALID_VALUE
    assert cuda.code("cuIpcOpenMemHandle_v2", None, handle, LAZY_PEER) == INVALID_VALUE
    for wrong in (pointer, 16):
        assert cuda.code("cuIpcCloseMemHandle", wrong) == INVALID_VALUE
    event, handle = shared_event(cuda, events)
    assert cuda.code("cuIpcOpenEventHandle", byref(c_void_p()), handle) == INVALID_CONTEXT
    assert cuda.code("cuIpcOpenEventHandle", None, handle) == INVALID_VALUE
    assert cuda.code("cuIpcOpenEventHandle", byref(c_void_p()), Handle()) == MAP_FAILED
    assert cuda.code("cuIpcGetEventHandle", None, event) == INVALID_VALUE
    assert cuda.code("cuIpcGetEventHandle", byref(handle), None) == INVALID_VALUE
    assert cuda.code("cuIpcGetEventHandle", byref(handle), events()) == INVALID_HANDLE
    assert cuda.code("cuIpcGetEventHandle", byref(handle), 16) == CONTEXT_IS_DESTROYED


def test_opened_memory_outlives_its_owner_and_a_stale_handle_is_refused(cuda, own, other):
    owner = other(OWNER)
    handle, mark = (Handle.of(bytes.fromhex(owner.hear())) for _ in range(2))
    pointer = opened(cuda, handle)
    assert cuda.read(pointer, 2) == [0x03030303] * 2
    assert cuda.code("cuMemFree_v2", pointer) == INVALID_VALUE
    assert cuda.code("cuMemFreeAsync", pointer, 0) == INVALID_VALUE
    assert cuda.code("cuIpcGetMemHandle", byref(Handle()), pointer) == INVALID_VALUE
    event = opened_event(cuda, mark)
    assert cuda.code("cuIpcGetEventHandle", byref(Handle()), event) == INVALID_HANDLE
    owner.say("cuda.cuMemFree_v2(pointer)")
    assert owner.hear() == "done"
    assert cuda.read(pointer, 2) == [0x03030303] * 2
    opened_again = c_uint64()
    code = cuda.code("cuIpcOpenMemHandle_v2", byref(opened_again), handle, LAZY_PEER)
    assert code == INVALID_HANDLE
    owner.process.kill()
    owner.process.wait()
    assert cuda.code("cuIpcOpenEventHandle", byref(c_void_p()), mark) == INVALID_HANDLE
    cuda.cuMemsetD8_v2(pointer, 4, 5000)
    assert cuda.read(pointer, 1) == [0x04040404]
    cuda.cuEventQuery(event)
    cuda.cuEventDestroy_v2(event)
    cuda.cuIpcCloseMemHandle(pointer)
    assert cuda.code("cuIpcCloseMemHandle", pointer) == INVALID_VALUE
    assert cuda.code("cuMemsetD8_v2", pointer, 4, 5000) == INVALID_VALUE


def test_random_bytes_of_a_handle_are_refused(cuda, own, other):
    """The driver refuses the bytes, or they name the memory; nothing else happens."""
    owner = other(OWNER)
    handle, mark = (bytes.fromhex(owner.hear()) for _ in range(2))
    rng = random.Random(1)

    def attempt(data):
        pointer, event = c_uint64(), c_void_p()
        name = Handle.of(data)
        code = cuda.code("cuIpcOpenMemHandle_v2", byref(pointer), name, LAZY_PEER)
        assert code in (SUCCESS, INVALID_VALUE, INVALID_HANDLE, INVALID_CONTEXT)
        if code == SUCCESS:
            assert data == handle
            cuda.cuIpcCloseMemHandle(pointer)
        code = cuda.code("cuIpcOpenEventHandle", byref(event), name)
        assert code in (SUCCESS, MAP_FAILED, INVALID_HANDLE, INVALID_CONTEXT)
        if code == SUCCESS:
            assert data == mark
            cuda.cuEventDestroy_v2(event)

    for data in (handle, mark, bytes(64), b"\xff" * 64, rng.randbytes(64)):
        attempt(data)
    for good in (handle, mark):
        for place in range(64):
            for value in (good[place] ^ 1, good[place] ^ 0x80, 0, 0xFF):
                attempt(good[:place] + bytes([value]) + good[place + 1 :])
    for place in range(0, 64, 4):
        for value in (0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF):
            attempt(handle[:place] + value.to_bytes(4, "little") + handle[place + 4 :])
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        attempt(rng.randbytes(64))
        attempt(handle)
    assert len(os.listdir("/proc/self/fd")) <= before
    owner.say("None")
    assert owner.hear() == "done"


def test_shared_objects_leak_no_file_or_mapping(cuda, own):
    """This holds for freed memory and for destroyed events."""
    before = len(os.listdir("/proc/self/fd"))
    maps = len(pathlib.Path("/proc/self/maps").read_text().splitlines())
    for _ in range(20):
        pointer, handle = cuda.alloc(10_000), Handle()
        cuda.cuIpcGetMemHandle(byref(handle), pointer)
        event = cuda.event(INTERPROCESS | DISABLE_TIMING)
        cuda.cuIpcGetEventHandle(byref(handle), event)
        cuda.cuEventRecord(event, 0)
        cuda.cuCtxSynchronize()
        cuda.cuEventDestroy_v2(event)
        cuda.cuMemFree_v2(pointer)
    assert len(os.listdir("/proc/self/fd")) <= before
    assert len(pathlib.Path("/proc/self/maps").read_text().splitlines()) <= maps + 5
