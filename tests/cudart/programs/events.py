"""Events: order between streams, times, and events of other processes."""

import ctypes
from ctypes import byref, c_float, c_int, c_uint64, c_void_p

BLOCKING, NO_TIMES, BETWEEN_PROCESSES = 1, 2, 4


def an_event(runtime):
    event = runtime.handle("cudaEventCreate")
    runtime.note("made", event != 0)
    runtime.cudaEventQuery(event)
    runtime.cudaEventSynchronize(event)
    runtime.cudaEventRecord(event, 0)
    runtime.cudaEventSynchronize(event)
    runtime.cudaEventQuery(event)
    runtime.cudaEventDestroy(event)


def flags(runtime):
    for wanted in (0, 1, 2, 3, 4, 5, 6, 7, 8, -1):
        runtime.note("flags", wanted)
        event = runtime.handle("cudaEventCreateWithFlags", wanted)
        if event:
            runtime.cudaEventDestroy(event)
    runtime.cudaEventCreate(None)
    runtime.cudaEventCreateWithFlags(None, 0)
    runtime.cudaGetLastError()


def no_event(runtime):
    runtime.cudaEventDestroy(None)
    runtime.cudaEventRecord(None, 0)
    runtime.cudaEventRecordWithFlags(None, 0, 0)
    runtime.cudaEventQuery(None)
    runtime.cudaEventSynchronize(None)
    runtime.cudaStreamWaitEvent(0, None, 0)
    runtime.cudaEventElapsedTime(byref(c_float()), None, None)
    runtime.cudaGetLastError()


def _elapsed(runtime, name):
    call = getattr(runtime, name)
    time = c_float(-1)
    first, second = runtime.handle("cudaEventCreate"), runtime.handle("cudaEventCreate")
    call(byref(time), first, second)
    runtime.cudaEventRecord(first, 0)
    call(byref(time), first, second)
    runtime.cudaEventRecord(second, 0)
    runtime.cudaEventSynchronize(second)
    call(byref(time), first, second)
    runtime.note("not negative", time.value >= 0)
    call(byref(time), first, first)
    runtime.note("zero", time.value)
    call(None, first, second)
    untimed = runtime.handle("cudaEventCreateWithFlags", NO_TIMES)
    runtime.cudaEventRecord(untimed, 0)
    runtime.cudaEventSynchronize(untimed)
    call(byref(time), first, untimed)
    call(byref(time), untimed, second)
    runtime.cudaGetLastError()


def elapsed_time(runtime):
    _elapsed(runtime, "cudaEventElapsedTime")


def elapsed_time_of_version_12(runtime):
    if runtime.major == 12:
        _elapsed(runtime, "cudaEventElapsedTime_v2")


def _blocked(runtime, stream):
    flag = runtime.handle("cudaHostAlloc", 4, 0)
    word = c_int.from_address(flag)
    word.value = 0
    runtime.launch(runtime.kernel("wait_flag"), (1, 1, 1), (1, 1, 1), [c_uint64(flag)], 0, stream)
    return word


def an_event_that_is_not_reached(runtime):
    stream = runtime.handle("cudaStreamCreateWithFlags", 1)
    before, after = runtime.handle("cudaEventCreate"), runtime.handle("cudaEventCreate")
    runtime.cudaEventRecord(before, stream)
    word = _blocked(runtime, stream)
    runtime.cudaEventRecord(after, stream)
    runtime.cudaEventQuery(after)
    runtime.cudaEventElapsedTime(byref(c_float()), before, after)
    runtime.cudaPeekAtLastError()
    word.value = 1
    runtime.cudaEventSynchronize(after)
    runtime.cudaEventQuery(after)
    runtime.cudaEventElapsedTime(byref(c_float()), before, after)


def a_stream_waits_for_an_event(runtime):
    one = runtime.handle("cudaStreamCreateWithFlags", 1)
    two = runtime.handle("cudaStreamCreateWithFlags", 1)
    event = runtime.handle("cudaEventCreateWithFlags", NO_TIMES)
    numbers = runtime.upload([0])
    word = _blocked(runtime, one)
    store, add = runtime.kernel("store"), runtime.kernel("add1")
    runtime.launch(store, (1, 1, 1), (1, 1, 1), [c_uint64(numbers), c_int(41)], 0, one)
    runtime.cudaEventRecord(event, one)
    runtime.cudaStreamWaitEvent(two, event, 0)
    runtime.launch(add, (1, 1, 1), (1, 1, 1), [c_uint64(numbers)], 0, two)
    runtime.cudaStreamQuery(two)
    word.value = 1
    runtime.cudaStreamSynchronize(two)
    runtime.note("number", runtime.ints(numbers, 1))


def waits_for_an_event_that_was_not_recorded(runtime):
    event = runtime.handle("cudaEventCreate")
    runtime.cudaStreamWaitEvent(0, event, 0)
    runtime.cudaStreamWaitEvent(0, event, 1)
    runtime.cudaStreamWaitEvent(0, event, 2)
    runtime.cudaStreamWaitEvent_ptsz(0, event, 0)
    runtime.cudaDeviceSynchronize()


def flags_of_a_record(runtime):
    event = runtime.handle("cudaEventCreate")
    runtime.cudaEventRecordWithFlags(event, 0, 0)
    runtime.cudaEventRecordWithFlags(event, 0, 1)
    runtime.cudaEventRecordWithFlags(event, 0, 2)
    runtime.cudaEventRecordWithFlags_ptsz(event, 0, 0)
    runtime.cudaEventRecord_ptsz(event, 0)
    runtime.cudaEventSynchronize(event)
    runtime.cudaEventDestroy(event)


def an_event_is_destroyed_before_it_is_reached(runtime):
    stream = runtime.handle("cudaStreamCreate")
    event = runtime.handle("cudaEventCreate")
    word = _blocked(runtime, stream)
    runtime.cudaEventRecord(event, stream)
    runtime.cudaEventDestroy(event)
    word.value = 1
    runtime.cudaStreamSynchronize(stream)


class IpcHandle(ctypes.Structure):
    """cudaIpcEventHandle_t, which is passed by value."""

    _fields_ = [("bytes", ctypes.c_char * 64)]


def _shared(runtime):
    return runtime.handle("cudaEventCreateWithFlags", NO_TIMES | BETWEEN_PROCESSES)


def handles_for_other_processes(runtime):
    handle = IpcHandle()
    runtime.cudaIpcGetEventHandle(byref(handle), runtime.handle("cudaEventCreate"))
    runtime.cudaIpcGetEventHandle(byref(handle), _shared(runtime))
    runtime.cudaIpcOpenEventHandle(byref(c_void_p()), handle)
    runtime.cudaGetLastError()


# NVIDIA's runtime crashes in some of the next three functions, so each function runs in its own
# process.


def a_handle_without_a_place(runtime):
    runtime.cudaIpcGetEventHandle(None, _shared(runtime))


def a_handle_of_no_event(runtime):
    runtime.cudaIpcGetEventHandle(byref(IpcHandle()), None)


def a_handle_is_opened_without_an_event(runtime):
    handle = IpcHandle()
    runtime.cudaIpcGetEventHandle(byref(handle), _shared(runtime))
    runtime.cudaIpcOpenEventHandle(None, handle)


def no_handle_of_another_process(runtime):
    runtime.cudaIpcOpenEventHandle(byref(c_void_p()), IpcHandle())
    runtime.cudaGetLastError()
