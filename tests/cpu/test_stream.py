"""Streams: order within, overlap between, the default streams' rules, host functions."""

import ctypes
import threading
from ctypes import byref, c_int, c_uint, c_uint64, c_void_p

import pytest
from driver_abi import *


@pytest.fixture
def flag(cuda):
    pointer = cuda.pinned(4)
    yield pointer
    word(pointer).value = 1
    cuda.cuCtxSynchronize()
    cuda.cuMemFreeHost(pointer)


@pytest.fixture
def streams(cuda):
    made = []

    def make(flags=0):
        made.append(cuda.stream(flags))
        return made[-1]

    yield make
    for stream in made:
        cuda.cuStreamDestroy_v2(stream)


def block(cuda, kernel, flag, stream):
    cuda.launch(kernel("wait_flag"), 1, 1, c_uint64(flag), stream=stream)


def test_a_launch_returns_at_once(cuda, kernel, flag, streams):
    stream = streams(NON_BLOCKING)
    block(cuda, kernel, flag, stream)
    assert cuda.code("cuStreamQuery", stream) == NOT_READY
    word(flag).value = 1
    cuda.cuStreamSynchronize(stream)
    cuda.cuStreamQuery(stream)


def test_order_within_a_stream(cuda, kernel, streams):
    stream, pointer = streams(), cuda.alloc(4096)
    cuda.cuMemsetD32Async(pointer, 0, 1024, stream)
    for _ in range(300):
        cuda.launch(kernel("add1"), 16, 64, c_uint64(pointer), stream=stream)
    cuda.cuStreamSynchronize(stream)
    assert cuda.read(pointer, 1024) == [300] * 1024
    cuda.cuMemFree_v2(pointer)


def test_streams_overlap(cuda, kernel, flag, streams):
    """The first stream's kernel ends only when the second's has written."""
    first, second = streams(NON_BLOCKING), streams(NON_BLOCKING)
    block(cuda, kernel, flag, first)
    cuda.launch(kernel("store"), 1, 1, c_uint64(flag), c_uint(1), stream=second)
    cuda.cuStreamSynchronize(first)


def test_legacy_stream_waits_for_blocking_streams(cuda, kernel, flag, streams):
    stream = streams()
    block(cuda, kernel, flag, stream)
    cuda.launch(kernel("empty"), 1, 1)
    assert cuda.code("cuStreamQuery", LEGACY) == NOT_READY
    word(flag).value = 1
    cuda.cuStreamSynchronize(0)
    cuda.cuStreamQuery(stream)


def test_blocking_streams_wait_for_the_legacy_stream(cuda, kernel, flag, streams):
    stream, free = streams(), streams(NON_BLOCKING)
    block(cuda, kernel, flag, 0)
    cuda.launch(kernel("empty"), 1, 1, stream=stream)
    cuda.launch(kernel("empty"), 1, 1, stream=free)
    cuda.cuStreamSynchronize(free)
    assert cuda.code("cuStreamQuery", stream) == NOT_READY
    word(flag).value = 1
    cuda.cuStreamSynchronize(stream)


def test_the_legacy_stream_is_done_after_blocking_streams(cuda, kernel, flag, streams):
    """Also if it has no work of its own."""
    blocking, free = streams(), streams(NON_BLOCKING)
    block(cuda, kernel, flag, blocking)
    assert cuda.code("cuStreamQuery", LEGACY) == NOT_READY
    assert cuda.code("cuStreamQuery", 0) == NOT_READY
    assert cuda.code("cuStreamQuery", PER_THREAD) == SUCCESS
    releaser = threading.Timer(0.05, lambda: setattr(word(flag), "value", 1))
    releaser.start()
    cuda.cuStreamSynchronize(0)
    assert word(flag).value == 1
    cuda.cuStreamQuery(blocking)
    releaser.join()
    word(flag).value = 0
    block(cuda, kernel, flag, free)
    cuda.cuStreamQuery(0)
    cuda.cuStreamSynchronize(0)


def test_threads_own_streams_overlap(cuda, kernel, flag):
    context = c_void_p()
    cuda.cuCtxGetCurrent(byref(context))
    argument = c_uint64(flag)
    arguments = (c_void_p * 1)(ctypes.addressof(argument))
    cuda.cuLaunchKernel_ptsz(kernel("wait_flag"), 1, 1, 1, 1, 1, 1, 0, 0, arguments, c_void_p())
    assert cuda.code("cuStreamQuery", PER_THREAD) == NOT_READY
    results = []

    def other():
        cuda.cuCtxSetCurrent(context)
        cuda.launch(kernel("store"), 1, 1, c_uint64(flag), c_uint(1), stream=PER_THREAD)
        results.append(cuda.code("cuStreamSynchronize_ptsz", 0))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert results == [SUCCESS]
    cuda.cuStreamSynchronize(PER_THREAD)


def test_destroying_a_stream_lets_its_work_finish(cuda, kernel, flag):
    stream, pointer = cuda.stream(NON_BLOCKING), cuda.pinned(4)
    block(cuda, kernel, flag, stream)
    cuda.launch(kernel("store"), 1, 1, c_uint64(pointer), c_uint(3), stream=stream)
    cuda.cuStreamDestroy_v2(stream)
    word(flag).value = 1
    eventually(lambda: word(pointer).value == 3)
    cuda.cuMemFreeHost(pointer)


def test_stale_and_default_handles(cuda, own):
    stream = cuda.stream()
    cuda.cuStreamDestroy_v2(stream)
    assert cuda.code("cuStreamQuery", stream) == INVALID_HANDLE
    assert cuda.code("cuStreamDestroy_v2", stream) == INVALID_HANDLE
    assert cuda.code("cuStreamSynchronize", 0x1234) == INVALID_HANDLE


def test_wrong_flags(cuda):
    assert cuda.code("cuStreamCreate", byref(c_void_p()), 2) == INVALID_VALUE


def test_what_a_stream_knows(cuda, streams):
    stream, flags, device, context, current = (
        streams(1),
        c_uint(),
        c_int(-1),
        c_void_p(),
        c_void_p(),
    )
    cuda.cuStreamGetFlags(stream, byref(flags))
    cuda.cuStreamGetCtx(stream, byref(context))
    cuda.cuCtxGetCurrent(byref(current))
    assert flags.value == 1 and context.value == current.value
    if not cuda.on_hardware:
        cuda.cuStreamGetDevice(stream, byref(device))
        assert device.value == 0
    first, second = c_uint64(), c_uint64()
    cuda.cuStreamGetId(stream, byref(first))
    cuda.cuStreamGetId(streams(), byref(second))
    assert first.value != second.value


def test_host_functions_run_in_order(cuda, kernel, flag, streams):
    stream, seen = streams(NON_BLOCKING), []
    calls = [HostFunction(lambda data: seen.append(data)) for _ in range(3)]
    block(cuda, kernel, flag, stream)
    for number, call in enumerate(calls, 1):
        cuda.cuLaunchHostFunc(stream, call, number)
    assert seen == []
    word(flag).value = 1
    cuda.cuStreamSynchronize(stream)
    assert seen == [1, 2, 3]


def test_callback_gets_stream_and_status(cuda, streams):
    stream, seen = streams(), []
    call = Callback(lambda *arguments: seen.append(arguments))
    cuda.cuStreamAddCallback(stream, call, 77, 0)
    cuda.cuStreamSynchronize(stream)
    assert seen == [(stream, SUCCESS, 77)]
    assert cuda.code("cuStreamAddCallback", stream, call, 0, 1) == INVALID_VALUE


def test_no_driver_calls_in_a_host_function(cuda, streams):
    stream, seen = streams(), []
    call = HostFunction(lambda data: seen.append(cuda.code("cuMemAlloc_v2", byref(c_uint64()), 4)))
    cuda.cuLaunchHostFunc(stream, call, 0)
    cuda.cuStreamSynchronize(stream)
    assert seen == [NOT_PERMITTED]


def test_a_host_function_that_waits_holds_up_no_other_stream(cuda, kernel, streams):
    first, second, go = streams(NON_BLOCKING), streams(NON_BLOCKING), threading.Event()
    wait = HostFunction(lambda data: go.wait(20) or None)
    cuda.cuLaunchHostFunc(first, wait, 0)
    cuda.launch(kernel("empty"), 100, 32, stream=second)
    cuda.cuStreamSynchronize(second)
    go.set()
    cuda.cuStreamSynchronize(first)


def test_many_streams(cuda, kernel, streams):
    pointer = cuda.alloc(64 * 4)
    cuda.cuMemsetD32_v2(pointer, 0, 64)
    cuda.cuCtxSynchronize()
    for number in range(64):
        stream = streams(NON_BLOCKING)
        for _ in range(5):
            cuda.launch(kernel("add1"), 1, 1, c_uint64(pointer + 4 * number), stream=stream)
    cuda.cuCtxSynchronize()
    assert cuda.read(pointer, 64) == [5] * 64
    cuda.cuMemFree_v2(pointer)
