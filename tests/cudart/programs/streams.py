"""Streams: creation, order, callbacks, attributes, and the default streams."""

import ctypes
import threading
from ctypes import byref, c_int, c_uint64, c_ulonglong, c_void_p

from cudart.device_structures import LaunchAttributeValue
from cudart.runtime import LEGACY, PER_THREAD

CALLBACK = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_void_p)
HOST_FUNCTION = ctypes.CFUNCTYPE(None, c_void_p)
ACCESS_POLICY, SYNC_POLICY, PRIORITY, MEM_SYNC_DOMAIN = 1, 3, 8, 10


def a_stream(runtime):
    stream = runtime.handle("cudaStreamCreate")
    runtime.note("made", stream != 0)
    runtime.cudaStreamQuery(stream)
    runtime.cudaStreamSynchronize(stream)
    numbers = runtime.upload([1, 2])
    runtime.launch(runtime.kernel("add1"), (1, 1, 1), (2, 1, 1), [c_uint64(numbers)], 0, stream)
    runtime.cudaStreamSynchronize(stream)
    runtime.note("numbers", runtime.ints(numbers, 2))
    runtime.cudaStreamDestroy(stream)


def flags(runtime):
    value = c_int(7)
    for wanted in (0, 1, 2, 3, -1):
        runtime.note("flags", wanted)
        stream = runtime.handle("cudaStreamCreateWithFlags", wanted)
        if stream:
            runtime.cudaStreamGetFlags(stream, byref(value))
            runtime.note("has", value.value)
            runtime.cudaStreamDestroy(stream)
    for stream in (0, LEGACY, PER_THREAD):
        runtime.cudaStreamGetFlags(stream, byref(value))
        runtime.note("has", value.value)
    runtime.cudaStreamGetFlags(0, None)
    runtime.cudaStreamCreate(None)
    runtime.cudaStreamCreateWithFlags(None, 0)
    runtime.cudaStreamCreateWithPriority(None, 0, 0)
    runtime.cudaGetLastError()


def priorities(runtime):
    least, greatest, value = c_int(), c_int(), c_int()
    runtime.cudaDeviceGetStreamPriorityRange(byref(least), byref(greatest))
    for wanted in (least.value, greatest.value, 100, -100):
        stream = runtime.handle("cudaStreamCreateWithPriority", 1, wanted)
        runtime.cudaStreamGetPriority(stream, byref(value))
        clamped = min(max(wanted, greatest.value), least.value)
        runtime.note("as wanted", value.value == clamped)
        runtime.cudaStreamGetFlags(stream, byref(value))
        runtime.note("flags", value.value)
        runtime.cudaStreamDestroy(stream)
    runtime.cudaStreamCreateWithPriority(byref(c_void_p()), 16, 0)
    for stream in (0, LEGACY, PER_THREAD):
        runtime.cudaStreamGetPriority(stream, byref(value))
        runtime.note("priority", value.value)
    runtime.cudaStreamGetPriority(0, None)
    runtime.cudaGetLastError()


def what_cannot_be_destroyed(runtime):
    for stream in (0, LEGACY, PER_THREAD):
        runtime.cudaStreamDestroy(stream)
        runtime.cudaGetLastError()


def identities(runtime):
    first, second = c_ulonglong(), c_ulonglong()
    one, two = runtime.handle("cudaStreamCreate"), runtime.handle("cudaStreamCreate")
    runtime.cudaStreamGetId(one, byref(first))
    runtime.cudaStreamGetId(two, byref(second))
    runtime.note("differ", first.value != second.value)
    runtime.cudaStreamGetId(one, byref(second))
    runtime.note("same", first.value == second.value)
    runtime.cudaStreamGetId(0, byref(first))
    runtime.cudaStreamGetId(LEGACY, byref(second))
    runtime.note("legacy", first.value == second.value)
    runtime.cudaStreamGetId(PER_THREAD, byref(second))
    runtime.note("per thread", first.value != second.value)
    runtime.cudaStreamGetId_ptsz(0, byref(first))
    runtime.note("own", first.value == second.value)
    runtime.note("device", _device(runtime, one))
    runtime.note("device", _device(runtime, 0))
    runtime.cudaStreamGetDevice_ptsz(0, byref(c_int()))


# NVIDIA's runtime crashes in some of the next two functions, so each of them runs in a process.


def an_identity_without_a_place(runtime):
    runtime.cudaStreamGetId(runtime.handle("cudaStreamCreate"), None)


def a_device_without_a_place(runtime):
    runtime.cudaStreamGetDevice(runtime.handle("cudaStreamCreate"), None)


def _device(runtime, stream):
    device = c_int(7)
    runtime.cudaStreamGetDevice(stream, byref(device))
    return device.value


def _blocked(runtime, stream):
    """A word in page-locked memory that a kernel of the stream waits for."""
    flag = runtime.handle("cudaHostAlloc", 4, 0)
    word = c_int.from_address(flag)
    word.value = 0
    runtime.launch(runtime.kernel("wait_flag"), (1, 1, 1), (1, 1, 1), [c_uint64(flag)], 0, stream)
    return word


def work_that_is_not_done(runtime):
    stream = runtime.handle("cudaStreamCreate")
    word = _blocked(runtime, stream)
    runtime.cudaStreamQuery(stream)
    runtime.cudaStreamQuery(0)
    runtime.cudaPeekAtLastError()
    word.value = 1
    runtime.cudaStreamSynchronize(stream)
    runtime.cudaStreamQuery(stream)


def a_stream_that_does_not_block(runtime):
    stream = runtime.handle("cudaStreamCreateWithFlags", 1)
    word = _blocked(runtime, stream)
    runtime.cudaStreamQuery(stream)
    runtime.cudaStreamSynchronize(0)
    runtime.cudaStreamQuery(0)
    runtime.cudaStreamQuery_ptsz(0)
    runtime.cudaStreamSynchronize_ptsz(0)
    word.value = 1
    runtime.cudaDeviceSynchronize()
    runtime.cudaStreamQuery(stream)


def a_stream_is_destroyed_before_its_work_is_done(runtime):
    stream = runtime.handle("cudaStreamCreate")
    word = _blocked(runtime, stream)
    runtime.cudaStreamDestroy(stream)
    word.value = 1
    runtime.cudaDeviceSynchronize()


def callbacks(runtime):
    seen = []

    @CALLBACK
    def called(_stream, status, data):
        seen.append([status, data])

    stream = runtime.handle("cudaStreamCreate")
    runtime.cudaStreamAddCallback(stream, called, 5, 0)
    runtime.cudaStreamSynchronize(stream)
    runtime.cudaStreamAddCallback(0, called, 6, 0)
    runtime.cudaStreamSynchronize(0)
    runtime.cudaStreamAddCallback_ptsz(0, called, 7, 0)
    runtime.cudaStreamSynchronize_ptsz(0)
    runtime.note("seen", seen)
    runtime.cudaStreamAddCallback(stream, called, 8, 1)
    runtime.cudaStreamAddCallback(stream, None, 9, 0)
    runtime.cudaStreamSynchronize(stream)
    runtime.note("calls", len(seen))
    runtime.cudaGetLastError()


def a_callback_calls_the_runtime(runtime):
    codes = []

    @CALLBACK
    def called(_stream, _status, _data):
        codes.append(runtime.library.cudaStreamCreate(byref(c_void_p())))
        codes.append(runtime.library.cudaGetLastError())

    runtime.cudaStreamAddCallback(0, called, None, 0)
    runtime.cudaDeviceSynchronize()
    runtime.note("codes", codes)
    runtime.cudaGetLastError()


def host_functions(runtime):
    seen = []

    @HOST_FUNCTION
    def called(data):
        seen.append(data)

    runtime.cudaLaunchHostFunc(0, called, 1)
    runtime.cudaStreamSynchronize(0)
    runtime.cudaLaunchHostFunc_ptsz(0, called, 2)
    runtime.cudaStreamSynchronize_ptsz(0)
    runtime.note("seen", seen)
    runtime.cudaLaunchHostFunc(0, None, 1)
    runtime.cudaGetLastError()


def each_thread_has_its_default_stream(runtime):
    seen = []

    def ask():
        identity = c_ulonglong()
        seen.append(runtime.library.cudaStreamGetId(c_void_p(PER_THREAD), byref(identity)))
        seen.append(identity.value)

    ask()
    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    runtime.note("codes", seen[::2])
    runtime.note("differ", seen[1] != seen[3])


def attributes(runtime):
    stream, other = runtime.handle("cudaStreamCreate"), runtime.handle("cudaStreamCreate")
    value = LaunchAttributeValue()
    for attribute in (ACCESS_POLICY, SYNC_POLICY, PRIORITY, MEM_SYNC_DOMAIN, 0, 2, 100):
        runtime.note("attribute", attribute)
        runtime.cudaStreamGetAttribute(stream, attribute, byref(value))
    value.number = 3
    runtime.cudaStreamSetAttribute(stream, SYNC_POLICY, byref(value))
    value.number = 0
    runtime.cudaStreamGetAttribute(stream, SYNC_POLICY, byref(value))
    runtime.note("synchronization", value.number)
    runtime.cudaStreamCopyAttributes(other, stream)
    value.number = 0
    runtime.cudaStreamGetAttribute(other, SYNC_POLICY, byref(value))
    runtime.note("synchronization", value.number)
    value.number = 100
    runtime.cudaStreamSetAttribute(stream, SYNC_POLICY, byref(value))
    runtime.cudaStreamSetAttribute(stream, 100, byref(value))
    runtime.cudaGetLastError()


# NVIDIA's runtime crashes in some of the next three functions, so each of them runs in a process.


def an_attribute_is_set_without_a_value(runtime):
    runtime.cudaStreamSetAttribute(runtime.handle("cudaStreamCreate"), SYNC_POLICY, None)


def an_attribute_without_a_place(runtime):
    runtime.cudaStreamGetAttribute(runtime.handle("cudaStreamCreate"), SYNC_POLICY, None)


def attributes_are_copied_from_a_stream_to_itself(runtime):
    stream = runtime.handle("cudaStreamCreate")
    runtime.cudaStreamCopyAttributes(stream, stream)


def attributes_of_default_streams(runtime):
    value = LaunchAttributeValue()
    stream = runtime.handle("cudaStreamCreate")
    for name in ("", "_ptsz"):
        getattr(runtime, "cudaStreamGetAttribute" + name)(0, SYNC_POLICY, byref(value))
        value.number = 1
        getattr(runtime, "cudaStreamSetAttribute" + name)(0, SYNC_POLICY, byref(value))
        getattr(runtime, "cudaStreamCopyAttributes" + name)(0, stream)
        getattr(runtime, "cudaStreamCopyAttributes" + name)(stream, 0)
        getattr(runtime, "cudaStreamGetPriority" + name)(0, byref(c_int()))
        getattr(runtime, "cudaStreamGetFlags" + name)(0, byref(c_int()))
    runtime.cudaGetLastError()
