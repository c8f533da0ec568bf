"""How a process and its threads get a context: first calls, contexts of the driver, resets."""

import ctypes
import json
import os
import threading
from ctypes import byref, c_char, c_int, c_size_t, c_uint64, c_ulonglong, c_void_p

from driver_abi import PTX

from cudart.device_structures import FunctionAttributes, device_properties
from cudart.runtime import HOST_TO_DEVICE, PER_THREAD

NO_CODE = (None, None, 0, None, None, 0)


def _driver(runtime):
    """The driver that the runtime has loaded."""
    runtime.integer("cudaGetDeviceCount")
    return ctypes.CDLL("libcuda.so.1")


def _is_active(driver):
    flags, active = c_int(), c_int()
    code = driver.cuDevicePrimaryCtxGetState(0, byref(flags), byref(active))
    return active.value if code == 0 else f"error {code}"


def _properties(runtime):
    name = "cudaGetDeviceProperties_v2" if runtime.major == 12 else "cudaGetDeviceProperties"
    kind, _ = device_properties(runtime.major)
    return name, byref(kind()), 0


def first_calls(runtime):
    made = c_void_p()
    calls = [
        ("cudaGetLastError",),
        ("cudaPeekAtLastError",),
        ("cudaDriverGetVersion", byref(c_int())),
        ("cudaRuntimeGetVersion", byref(c_int())),
        ("cudaGetDeviceCount", byref(c_int())),
        ("cudaGetDevice", byref(c_int())),
        ("cudaDeviceGetAttribute", byref(c_int()), 10, 0),
        _properties(runtime),
        ("cudaDeviceCanAccessPeer", byref(c_int()), 0, 0),
        ("cudaDeviceGetPCIBusId", (c_char * 20)(), 20, 0),
        ("cudaGetDeviceFlags", byref(c_int())),
        ("cudaSetDeviceFlags", 0),
        ("cudaSetValidDevices", (c_int * 1)(0), 1),
        ("cudaSetDevice", 0),
        ("cudaInitDevice", 0, 0, 0),
        ("cudaDeviceSynchronize",),
        ("cudaDeviceReset",),
        ("cudaDeviceGetLimit", byref(c_size_t()), 0),
        ("cudaDeviceSetLimit", 0, 2048),
        ("cudaDeviceGetCacheConfig", byref(c_int())),
        ("cudaDeviceGetStreamPriorityRange", byref(c_int()), byref(c_int())),
        ("cudaDeviceEnablePeerAccess", 0, 0),
        ("cudaProfilerStart",),
        ("cudaProfilerStop",),
        ("cudaStreamCreate", byref(made)),
        ("cudaStreamQuery", 0),
        ("cudaStreamSynchronize", 0),
        ("cudaStreamSynchronize", PER_THREAD),
        ("cudaStreamSynchronize_ptsz", 0),
        ("cudaStreamGetId", 0, byref(c_ulonglong())),
        ("cudaStreamWaitEvent", 0, None, 0),
        ("cudaStreamDestroy", 0),
        ("cudaEventCreate", byref(made)),
        ("cudaEventRecord", None, 0),
        ("cudaEventDestroy", None),
        ("cudaFuncGetAttributes", byref(FunctionAttributes()), None),
        ("cudaLibraryLoadData", byref(made), PTX, *NO_CODE),
        ("cudaGetDriverEntryPoint", b"cuInit", byref(made), 0, None),
        ("cudaGetDriverEntryPointByVersion", b"cuInit", byref(made), 12000, 0, None),
        ("cudaMalloc", byref(made), 4),
        ("cudaFree", None),
        ("cudaFreeHost", None),
        ("cudaMemGetInfo", byref(c_size_t()), byref(c_size_t())),
    ]
    for name, *arguments in calls:
        runtime.note("first call", _alone(runtime, name, arguments))


def _alone(runtime, name, arguments):
    """Its code in a process of its own, the last error then, and whether it made a context."""
    end, start = os.pipe()
    child = os.fork()
    if child == 0:
        code = getattr(runtime, name)(*arguments)
        active = _is_active(ctypes.CDLL("libcuda.so.1"))
        found = [name, code, runtime.cudaGetLastError(), active]
        os.write(start, json.dumps(found).encode())
        os._exit(0)
    os.close(start)
    _, status = os.waitpid(child, 0)
    with os.fdopen(end) as file:
        text = file.read()
    runtime.called.add(name)
    return json.loads(text) if text else [name, "ended", status]


def a_thread_without_a_device(runtime):
    runtime.cudaSetDevice(0)
    numbers = []

    def work():
        pointer = runtime.upload([5])
        runtime.launch(runtime.kernel("add1"), (1, 1, 1), (1, 1, 1), [c_uint64(pointer)])
        numbers.extend(runtime.ints(pointer, 1))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    runtime.note("numbers", numbers)


def threads_start_together(runtime):
    codes = []

    def work():
        made = c_void_p()
        codes.append(runtime.library.cudaMalloc(byref(made), c_size_t(4)))
        codes.append(runtime.library.cudaFree(made))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    runtime.note("codes", codes)
    runtime.cudaDeviceSynchronize()


def _made_context(driver):
    context = c_void_p()
    code = driver.cuCtxCreate_v2(byref(context), 0, 0)
    return context, code


def a_context_of_the_driver(runtime):
    driver = _driver(runtime)
    runtime.note("initialized", driver.cuInit(0))
    context, code = _made_context(driver)
    runtime.note("context", code)
    runtime.note("device", runtime.integer("cudaGetDevice"))
    runtime.note("flags", runtime.integer("cudaGetDeviceFlags"))
    stream, of_stream = runtime.handle("cudaStreamCreate"), c_void_p()
    driver.cuStreamGetCtx(c_void_p(stream), byref(of_stream))
    runtime.note("in it", of_stream.value == context.value)
    pointer = runtime.upload([1])
    runtime.launch(runtime.kernel("add1"), (1, 1, 1), (1, 1, 1), [c_uint64(pointer)])
    runtime.note("numbers", runtime.ints(pointer, 1))
    runtime.note("primary is active", _is_active(driver))
    runtime.cudaDeviceReset()
    runtime.note("numbers", runtime.ints(pointer, 1))
    now = c_void_p()
    driver.cuCtxGetCurrent(byref(now))
    runtime.note("still current", now.value == context.value)
    runtime.cudaStreamDestroy(stream)
    runtime.cudaFree(c_void_p(pointer))
    runtime.cudaGetLastError()


def from_a_context_of_the_driver_to_a_device(runtime):
    driver = _driver(runtime)
    context, _ = _made_context(driver)
    pointer = runtime.upload([1])
    runtime.cudaSetDevice(0)
    now = c_void_p()
    driver.cuCtxGetCurrent(byref(now))
    runtime.note("another", now.value != context.value)
    runtime.note("primary is active", _is_active(driver))
    runtime.note("numbers", runtime.ints(pointer, 1))
    driver.cuCtxSetCurrent(context)
    runtime.cudaFree(c_void_p(pointer))
    driver.cuCtxDestroy_v2(context)
    runtime.cudaDeviceSynchronize()
    driver.cuCtxGetCurrent(byref(now))
    runtime.note("a context", bool(now.value) and now.value != context.value)
    runtime.upload([2])


def the_primary_context_of_the_driver(runtime):
    driver = _driver(runtime)
    context, now = c_void_p(), c_void_p()
    driver.cuDevicePrimaryCtxRetain(byref(context), 0)
    runtime.note("primary is active", _is_active(driver))
    runtime.upload([1])
    driver.cuCtxGetCurrent(byref(now))
    runtime.note("the same", now.value == context.value)
    runtime.note("flags", runtime.integer("cudaGetDeviceFlags"))
    driver.cuDevicePrimaryCtxRelease_v2(0)
    runtime.note("primary is active", _is_active(driver))
    runtime.upload([1])


def no_context_after_the_first_call(runtime):
    driver = _driver(runtime)
    pointer = runtime.upload([3])
    driver.cuCtxSetCurrent(None)
    runtime.note("device", runtime.integer("cudaGetDevice"))
    runtime.note("numbers", runtime.ints(pointer, 1))


def a_reset(runtime):
    driver = _driver(runtime)
    runtime.upload([1])
    runtime.handle("cudaStreamCreate")
    runtime.handle("cudaEventCreate")
    runtime.note("primary is active", _is_active(driver))
    runtime.cudaDeviceReset()
    runtime.note("primary is active", _is_active(driver))
    runtime.cudaDeviceReset()
    runtime.note("device", runtime.integer("cudaGetDevice"))
    pointer = runtime.upload([6])
    runtime.launch(runtime.kernel("add1"), (1, 1, 1), (1, 1, 1), [c_uint64(pointer)])
    runtime.note("numbers", runtime.ints(pointer, 1))
    runtime.note("primary is active", _is_active(driver))
    runtime.cudaGetLastError()


def a_reset_frees_memory(runtime):
    pointer = runtime.upload([1])
    runtime.cudaDeviceReset()
    runtime.cudaMemcpy(c_void_p(pointer), byref(c_int(1)), 4, HOST_TO_DEVICE)
    runtime.cudaFree(c_void_p(pointer))
    runtime.cudaGetLastError()


def a_reset_while_another_thread_has_the_device(runtime):
    go, done = threading.Event(), threading.Event()
    seen = []

    def work():
        seen.append(runtime.library.cudaFree(None))
        done.set()
        go.wait()
        made = c_void_p()
        seen.append(runtime.library.cudaMalloc(byref(made), c_size_t(4)))
        seen.append(runtime.library.cudaFree(made))
        seen.append(runtime.library.cudaStreamSynchronize(None))

    thread = threading.Thread(target=work)
    thread.start()
    done.wait()
    runtime.cudaDeviceReset()
    go.set()
    thread.join()
    runtime.note("codes", seen)
    runtime.upload([1])


def a_reset_keeps_settings_of_the_thread(runtime):
    runtime.cudaSetDeviceFlags(4)
    runtime.note("flags", runtime.integer("cudaGetDeviceFlags"))
    runtime.cudaDeviceSetLimit(0, 8192)
    runtime.cudaDeviceReset()
    runtime.note("flags", runtime.integer("cudaGetDeviceFlags"))
    size = c_size_t()
    runtime.cudaDeviceGetLimit(byref(size), 0)
    runtime.note("stack is as set", size.value == 8192)
    runtime.note("flags", runtime.integer("cudaGetDeviceFlags"))


def the_driver_resets_the_device(runtime):
    driver = _driver(runtime)
    runtime.upload([1])
    runtime.note("reset", driver.cuDevicePrimaryCtxReset_v2(0))
    runtime.cudaDeviceSynchronize()
    runtime.handle("cudaMalloc", 4)
    runtime.cudaGetLastError()
    runtime.cudaDeviceReset()
    runtime.handle("cudaMalloc", 4)
    runtime.cudaGetLastError()


def a_reset_of_a_thread_that_has_chosen_no_device(runtime):
    codes = []

    def work():
        codes.append(runtime.library.cudaDeviceReset())
        codes.append(runtime.library.cudaGetLastError())

    runtime.upload([1])
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    runtime.note("codes", codes)
    runtime.note("primary is active", _is_active(ctypes.CDLL("libcuda.so.1")))
    runtime.cudaDeviceSynchronize()


def a_child_of_a_process_that_has_used_the_device(runtime):
    runtime.upload([1])
    calls = [
        ("cudaMalloc", byref(c_void_p()), 4),
        ("cudaDeviceSynchronize",),
        ("cudaGetDevice", byref(c_int())),
        ("cudaGetDeviceCount", byref(c_int())),
        ("cudaSetDevice", 0),
        ("cudaStreamSynchronize", 0),
        ("cudaGetLastError",),
        ("cudaRuntimeGetVersion", byref(c_int())),
    ]
    for name, *arguments in calls:
        runtime.note("in a child", _alone(runtime, name, arguments)[:2])
    runtime.upload([2])
