"""Events of other processes: what they order, and what a killed process leaves."""

import os
import signal
from ctypes import byref, c_int, c_void_p

from driver_abi import *

from .processes import EXTERNAL_DEVICE, OWNER, Handle, other, shared_event
from .test_stream import block, flag, streams

__all__ = ["flag", "other", "streams"]

# ---- events ---------------------------------------------------------------------------------


def test_another_process_waits_for_an_event(cuda, events, other, kernel, flag, streams):
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


def test_another_process_records_an_event(cuda, events, other, streams):
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
    cuda.cuEventRecord(event, stream)  # records the shared event again
    cuda.cuEventSynchronize(event)
    child.say()
    child.end()


def test_an_event_is_recorded_many_times(cuda, events, streams):
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


def test_an_event_of_a_killed_process_is_an_error(cuda, own, other):
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
    os.kill(owner.process.pid, signal.SIGKILL)  # the process stays a zombie
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
