"""Events: what they mark, what they make wait, what they measure."""

import time
from ctypes import byref, c_float, c_uint, c_uint64

import pytest
from driver_abi import *

from .test_stream import block, flag, streams

__all__ = ["flag", "streams"]
DISABLE_TIMING = 2


def test_an_event_never_recorded_is_done(cuda, events, streams):
    event = events()
    cuda.cuEventQuery(event)
    cuda.cuEventSynchronize(event)
    cuda.cuStreamWaitEvent(streams(), event, 0)


def test_query_and_synchronize(cuda, events, streams, kernel, flag):
    event, stream = events(), streams(NON_BLOCKING)
    block(cuda, kernel, flag, stream)
    cuda.cuEventRecord(event, stream)
    assert cuda.code("cuEventQuery", event) == NOT_READY
    word(flag).value = 1
    cuda.cuEventSynchronize(event)
    cuda.cuEventQuery(event)


def test_a_stream_waits_for_an_event(cuda, events, streams, kernel, flag):
    event, first, second = events(), streams(NON_BLOCKING), streams(NON_BLOCKING)
    block(cuda, kernel, flag, first)
    cuda.cuEventRecord(event, first)
    cuda.cuStreamWaitEvent(second, event, 0)
    cuda.launch(kernel("empty"), 1, 1, stream=second)
    assert cuda.code("cuStreamQuery", second) == NOT_READY
    word(flag).value = 1
    cuda.cuStreamSynchronize(second)
    cuda.cuStreamQuery(first)


def test_recording_again_does_not_move_an_old_wait(cuda, events, streams, kernel, flag):
    event, first, second = events(), streams(NON_BLOCKING), streams(NON_BLOCKING)
    cuda.cuEventRecord(event, first)
    cuda.cuStreamWaitEvent(second, event, 0)
    block(cuda, kernel, flag, first)
    cuda.cuEventRecord(event, first)
    cuda.cuStreamSynchronize(second)
    assert cuda.code("cuEventQuery", event) == NOT_READY


def test_destroying_an_event_that_is_waited_for(cuda, streams, kernel, flag):
    event, first, second = cuda.event(), streams(NON_BLOCKING), streams(NON_BLOCKING)
    block(cuda, kernel, flag, first)
    cuda.cuEventRecord(event, first)
    cuda.cuStreamWaitEvent(second, event, 0)
    cuda.cuEventDestroy_v2(event)
    cuda.launch(kernel("empty"), 1, 1, stream=second)
    assert cuda.code("cuStreamQuery", second) == NOT_READY
    word(flag).value = 1
    cuda.cuStreamSynchronize(second)


@pytest.mark.parametrize("form", ["cuEventElapsedTime", "cuEventElapsedTime_v2"])
def test_elapsed_time_is_true(cuda, events, streams, form):
    start, stop, stream, time_ms = events(), events(), streams(), c_float()
    sleep = HostFunction(lambda data: time.sleep(0.05))
    cuda.cuEventRecord(start, stream)
    cuda.cuLaunchHostFunc(stream, sleep, 0)
    cuda.cuEventRecord(stop, stream)
    cuda.cuStreamSynchronize(stream)
    getattr(cuda, form)(byref(time_ms), start, stop)
    assert 49 < time_ms.value < 5000
    getattr(cuda, form)(byref(time_ms), stop, start)
    assert -5000 < time_ms.value < -49


def test_elapsed_time_misuse(cuda, events, streams, kernel, flag):
    start, stop, plain, stream, out = (
        events(),
        events(),
        events(DISABLE_TIMING),
        streams(1),
        c_float(),
    )
    elapsed = lambda a, b: cuda.code("cuEventElapsedTime", byref(out), a, b)
    assert elapsed(start, stop) == INVALID_HANDLE  # never recorded
    cuda.cuEventRecord(start, stream)
    cuda.cuEventRecord(plain, stream)
    cuda.cuStreamSynchronize(stream)
    assert elapsed(start, plain) == INVALID_HANDLE
    block(cuda, kernel, flag, stream)
    cuda.cuEventRecord(stop, stream)
    assert elapsed(start, stop) == NOT_READY
    word(flag).value = 1
    cuda.cuEventSynchronize(stop)
    assert elapsed(start, stop) == SUCCESS and out.value > 0


def test_stale_event(cuda, own):
    event = cuda.event()
    cuda.cuEventDestroy_v2(event)
    assert cuda.code("cuEventQuery", event) == CONTEXT_IS_DESTROYED
    assert cuda.code("cuEventDestroy_v2", event) == CONTEXT_IS_DESTROYED


def test_wrong_flags(cuda):
    assert cuda.code("cuEventCreate", byref(c_uint64()), 8) == INVALID_VALUE
    assert cuda.code("cuEventCreate", byref(c_uint64()), 4) == INVALID_VALUE


def test_external_records_need_a_capture(cuda, streams):
    event, stream = cuda.event(), streams()
    assert cuda.code("cuEventRecordWithFlags", event, stream, 1) == ILLEGAL_STATE
    assert cuda.code("cuStreamWaitEvent", stream, event, 1) == ILLEGAL_STATE
    cuda.cuEventRecordWithFlags(event, stream, 0)
    cuda.cuStreamWaitEvent(stream, event, 0)
    cuda.cuEventDestroy_v2(event)


def test_event_of_another_context(cuda, own):
    event, context = cuda.event(), c_uint64()
    cuda.cuCtxCreate_v2(byref(context), 0, 0)
    try:
        assert cuda.code("cuEventRecord", event, 0) == INVALID_HANDLE
    finally:
        cuda.cuCtxDestroy_v2(context)
    cuda.cuEventDestroy_v2(event)
    assert c_uint
