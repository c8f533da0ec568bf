"""Memory and events of other processes: what is shared, how it ends, what bytes can't do."""

import ctypes
import os
import pathlib
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from ctypes import byref, c_bool, c_int, c_uint, c_uint64, c_void_p

import pytest
from driver_abi import *

from .test_stream import block, flag, streams

__all__ = ["flag", "streams"]
INTERPROCESS, DISABLE_TIMING = 4, 2
LAZY_PEER = 1
LEGACY_IPC_CAPABLE, IPC_EVENT_SUPPORTED = 10, 125
EXTERNAL_DEVICE = 911


class Handle(ctypes.Structure):
    """CUipcMemHandle or CUipcEventHandle, which are passed by value."""

    _fields_ = (("bytes", ctypes.c_ubyte * 64),)

    @classmethod
    def of(cls, data):
        return cls.from_buffer_copy(data)


HEAD = """
import ctypes, os, sys, threading, time
from ctypes import byref, c_size_t, c_uint64
from driver_abi import *
from cpu.test_ipc import DISABLE_TIMING, INTERPROCESS, Handle, opened, opened_event
cuda = Driver()
context = cuda.start()
handle = Handle.of(bytes.fromhex(sys.argv[1])) if len(sys.argv) > 1 else None
def say(*words):
    print(*words, flush=True)
def hear():
    return sys.stdin.readline().strip()
"""


class Other:
    """Another process, to talk to by lines."""

    def __init__(self, text, handle=None):
        argument = [] if handle is None else [bytes(handle).hex()]
        self.process = subprocess.Popen(
            [sys.executable, "-c", HEAD + textwrap.dedent(text), *argument],
            cwd=pathlib.Path(__file__).parents[1],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def hear(self):
        return self.process.stdout.readline().strip()

    def say(self, word="go"):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def end(self, timeout=60):
        rest, _ = self.process.communicate(timeout=timeout)
        assert self.process.returncode == 0
        return rest.strip()


@pytest.fixture
def other(cuda):
    made = []

    def start(text, handle=None):
        made.append(Other(text, handle))
        return made[-1]

    yield start
    for one in made:
        if one.process.poll() is None:
            one.process.kill()
        one.process.communicate()


@pytest.fixture
def shared(cuda):
    """A function: memory of so many bytes and its handle; skips where the system shares none."""
    made = []

    def make(size):
        made.append(cuda.alloc(size))
        handle = Handle()
        if (
            cuda.code("cuIpcGetMemHandle", byref(handle), made[-1]) == NOT_SUPPORTED
            and cuda.on_hardware
        ):
            pytest.skip("this system shares no device memory")
        cuda.cuIpcGetMemHandle(byref(handle), made[-1])
        return made[-1], handle

    yield make
    for pointer in made:
        cuda.cuMemFree_v2(pointer)


def opened(cuda, handle, code=SUCCESS):
    pointer = c_uint64()
    assert cuda.code("cuIpcOpenMemHandle_v2", byref(pointer), handle, LAZY_PEER) == code
    return pointer.value


def shared_event(cuda, events):
    value = c_int()
    cuda.cuDeviceGetAttribute(byref(value), IPC_EVENT_SUPPORTED, 0)
    if not value.value:
        pytest.skip("the device has no events for other processes")
    event = events(INTERPROCESS | DISABLE_TIMING)
    handle = Handle()
    cuda.cuIpcGetEventHandle(byref(handle), event)
    return event, handle


def opened_event(cuda, handle):
    event = c_void_p()
    cuda.cuIpcOpenEventHandle(byref(event), handle)
    return event.value


# ---- memory ---------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [4, 1000, 4096, 70_001, 5 << 20])
def test_two_processes_have_one_memory(cuda, shared, other, kernel, size):
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


def test_what_is_there_when_it_is_shared_stays(cuda, shared, kernel):
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
    """No store of work that runs meanwhile is lost."""
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
    """The kernel waits for a store that comes after the call has begun."""
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


def test_what_may_not_be_shared(cuda):
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


def test_pointers_know_whether_they_can_be_shared(cuda, own):
    answer, pooled = c_bool(), c_uint64()
    pointer = cuda.alloc(16)
    cuda.cuPointerGetAttribute(byref(answer), LEGACY_IPC_CAPABLE, pointer)
    assert answer.value
    cuda.cuMemFree_v2(pointer)
    cuda.cuMemAllocAsync(byref(pooled), 64, 0)
    cuda.cuPointerGetAttribute(byref(answer), LEGACY_IPC_CAPABLE, pooled)
    assert not answer.value
    cuda.cuMemFreeAsync(pooled, 0)


def test_a_process_does_not_open_its_own(cuda, shared, events):
    pointer, handle = shared(64)
    assert cuda.code("cuIpcOpenMemHandle_v2", byref(c_uint64()), handle, LAZY_PEER) != SUCCESS
    assert cuda.code("cuIpcCloseMemHandle", pointer) != SUCCESS
    cuda.cuMemsetD8_v2(pointer, 1, 64)


def test_misuse(cuda, own, shared, events):
    pointer, handle = shared(64)
    assert opened(cuda, handle, INVALID_CONTEXT) == 0
    assert cuda.code("cuIpcOpenMemHandle_v2", byref(c_uint64()), handle, 0) == INVALID_VALUE
    assert cuda.code("cuIpcOpenMemHandle_v2", None, handle, LAZY_PEER) == INVALID_VALUE
    for wrong in (pointer, 16):
        assert cuda.code("cuIpcCloseMemHandle", wrong) == INVALID_VALUE
    event, handle = shared_event(cuda, events)
    assert cuda.code("cuIpcOpenEventHandle", byref(c_void_p()), handle) == INVALID_CONTEXT
    assert cuda.code("cuIpcOpenEventHandle", None, handle) == INVALID_VALUE
    assert cuda.code("cuIpcGetEventHandle", None, event) == INVALID_VALUE
    assert cuda.code("cuIpcGetEventHandle", byref(handle), events()) == INVALID_HANDLE
    assert cuda.code("cuIpcGetEventHandle", byref(handle), 16) == CONTEXT_IS_DESTROYED


OWNER = """
pointer, handle = cuda.alloc(5000), Handle()
cuda.cuMemsetD8_v2(pointer, 3, 5000)
cuda.cuCtxSynchronize()  # which a memset does not wait for
cuda.cuIpcGetMemHandle(byref(handle), pointer)
event, mark = cuda.event(INTERPROCESS | DISABLE_TIMING), Handle()
cuda.cuIpcGetEventHandle(byref(mark), event)
say(bytes(handle).hex())
say(bytes(mark).hex())
while word := hear():
    eval(word)
    say("done")
"""


def test_what_was_opened_stays_and_what_is_gone_is_an_error(cuda, own, other):
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


def test_hostile_bytes(cuda, own, other):
    """Whatever the bytes are, they are refused or they mean the memory; nothing else happens."""
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
        assert code in (SUCCESS, INVALID_VALUE, INVALID_HANDLE, INVALID_CONTEXT)
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


def test_nothing_is_left_behind(cuda, own):
    """Neither of memory that is freed nor of events that are destroyed."""
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


# ---- events ---------------------------------------------------------------------------------


def test_an_event_goes_from_one_process_to_another(cuda, events, other, kernel, flag, streams):
    event, handle = shared_event(cuda, events)
    child = other(
        """
        event, stream = opened_event(cuda, handle), cuda.stream(NON_BLOCKING)
        say(cuda.code("cuEventQuery", event))
        say(hear())
        say(cuda.code("cuEventQuery", event))
        cuda.cuStreamWaitEvent(stream, event, 0)
        say(cuda.code("cuStreamQuery", stream))
        hear()
        cuda.cuEventSynchronize(event)
        cuda.cuStreamSynchronize(stream)
        say(cuda.code("cuEventQuery", event))
        cuda.cuEventDestroy_v2(event)
        """,
        handle,
    )
    stream = streams(NON_BLOCKING)
    assert child.hear() == "0"  # never recorded
    block(cuda, kernel, flag, stream)
    cuda.cuEventRecord(event, stream)
    child.say("recorded")
    assert [child.hear() for _ in range(3)] == ["recorded", str(NOT_READY), str(NOT_READY)]
    word(flag).value = 1
    child.say()
    assert child.end() == "0"
    cuda.cuEventQuery(event)


def test_the_other_process_records(cuda, events, other, streams):
    event, handle = shared_event(cuda, events)
    child = other(
        """
        event, stream = opened_event(cuda, handle), cuda.stream(NON_BLOCKING)
        function, flag = cuda.function(cuda.module(), "wait_flag"), cuda.pinned(4)
        cuda.launch(function, 1, 1, c_uint64(flag), stream=stream)
        cuda.cuEventRecord(event, stream)
        say("recorded")
        hear()
        word(flag).value = 1
        hear()
        """,
        handle,
    )
    assert child.hear() == "recorded"
    stream = streams(NON_BLOCKING)
    assert cuda.code("cuEventQuery", event) == NOT_READY
    cuda.cuStreamWaitEvent(stream, event, 0)
    assert cuda.code("cuStreamQuery", stream) == NOT_READY
    child.say()
    cuda.cuEventSynchronize(event)
    cuda.cuStreamSynchronize(stream)
    cuda.cuEventRecord(event, stream)  # and this one again
    cuda.cuEventSynchronize(event)
    child.say()
    child.end()


def test_many_records(cuda, events, streams):
    event, _ = shared_event(cuda, events)
    first, second = streams(NON_BLOCKING), streams(NON_BLOCKING)
    for _ in range(300):
        cuda.cuEventRecord(event, first)
        cuda.cuStreamWaitEvent(second, event, 0)
        cuda.cuEventRecord(event, second)
        cuda.cuStreamWaitEvent(first, event, 0)
    cuda.cuEventSynchronize(event)
    cuda.cuStreamSynchronize(first)
    cuda.cuEventQuery(event)


LOST = """
event, stream = opened_event(cuda, handle), cuda.stream(NON_BLOCKING)
assert cuda.code("cuEventQuery", event) == NOT_READY
cuda.cuStreamWaitEvent(stream, event, 0)
say("waits")
code = cuda.code("cuStreamSynchronize", stream)
say(code, cuda.code("cuEventQuery", event), cuda.code("cuCtxSynchronize"))
"""


def test_a_process_that_is_killed_makes_nobody_wait(cuda, own, other):
    owner = other(OWNER)
    owner.hear()
    mark = Handle.of(bytes.fromhex(owner.hear()))
    owner.say(
        "[cuda.launch(cuda.function(cuda.module(), 'wait_flag'), 1, 1, "
        "c_uint64(cuda.pinned(4))), cuda.cuEventRecord(event, 0)]"
    )
    assert owner.hear() == "done"
    child = other(LOST, mark)
    assert child.hear() == "waits"
    os.kill(owner.process.pid, signal.SIGKILL)  # and nobody reaps it
    assert child.end() == f"{EXTERNAL_DEVICE} {EXTERNAL_DEVICE} {EXTERNAL_DEVICE}"


def test_a_graph_waits_for_another_process(cuda, own, events, streams):
    event, _ = shared_event(cuda, events)
    stream, graph, run = streams(NON_BLOCKING), c_void_p(), c_void_p()
    pointer, copy = cuda.alloc(4), c_int(0)
    cuda.cuStreamBeginCapture_v2(stream, 2)
    cuda.code("cuStreamWaitEvent", stream, event, 1)
    cuda.cuMemsetD32Async(pointer, 5, 1, stream)
    cuda.code("cuEventRecordWithFlags", event, stream, 1)
    cuda.cuStreamEndCapture(stream, byref(graph))
    cuda.cuGraphInstantiateWithFlags(byref(run), graph, 0)
    for _ in range(3):
        cuda.cuGraphLaunch(run, stream)
    cuda.cuEventSynchronize(event)
    assert cuda.read(pointer, 1) == [5] and copy.value == 0
    cuda.cuGraphExecDestroy(run)
    cuda.cuGraphDestroy(graph)
    cuda.cuMemFree_v2(pointer)
