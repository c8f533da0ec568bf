"""Names of errors, the thread's last error, and errors of kernels."""

import threading
from ctypes import byref, c_int, c_uint64

UNKNOWN = "unrecognized error code"


def names(runtime):
    codes = [*range(-1, 1001), 9999, 10000, 10001]
    named = {code: runtime.text("cudaGetErrorName", code) for code in codes}
    runtime.note("names", [[code, name] for code, name in named.items() if name != UNKNOWN])
    texts = {code: runtime.text("cudaGetErrorString", code) for code in codes}
    runtime.note("without a text", [code for code in codes if not texts[code]])
    runtime.note("no error", texts[0])
    runtime.note("unknown", [code for code in codes if texts[code] == UNKNOWN and code in named])


def the_last_error_is_kept_until_it_is_read(runtime):
    runtime.cudaPeekAtLastError()
    runtime.cudaGetLastError()
    runtime.cudaSetDevice(-1)
    runtime.cudaDeviceSynchronize()
    runtime.cudaPeekAtLastError()
    runtime.cudaPeekAtLastError()
    runtime.cudaGetLastError()
    runtime.cudaGetLastError()
    runtime.cudaSetDevice(-1)
    runtime.cudaMalloc(None, 4)
    runtime.cudaGetLastError()
    runtime.cudaPeekAtLastError()


def each_thread_has_its_last_error(runtime):
    runtime.cudaSetDevice(-1)
    thread = threading.Thread(target=runtime.cudaGetLastError)
    thread.start()
    thread.join()
    runtime.cudaGetLastError()


def which_calls_set_the_last_error(runtime):
    runtime.cudaGetDeviceCount(None)
    runtime.cudaGetLastError()
    runtime.cudaDriverGetVersion(None)
    runtime.cudaGetLastError()
    runtime.cudaRuntimeGetVersion(None)
    runtime.cudaGetLastError()
    runtime.cudaGetDevice(None)
    runtime.cudaGetLastError()
    runtime.text("cudaGetErrorName", 12345)
    runtime.cudaGetLastError()
    runtime.cudaGetExportTable(None, None)
    runtime.cudaGetLastError()


def a_query_that_is_not_ready_is_no_error(runtime):
    flag = runtime.handle("cudaHostAlloc", 4, 0)
    c_int.from_address(flag).value = 0
    stream = runtime.handle("cudaStreamCreate")
    runtime.launch(runtime.kernel("wait_flag"), (1, 1, 1), (1, 1, 1), [c_uint64(flag)], 0, stream)
    runtime.cudaStreamQuery(stream)
    runtime.cudaPeekAtLastError()
    runtime.cudaGetLastError()
    c_int.from_address(flag).value = 1
    runtime.cudaStreamSynchronize(stream)
    runtime.cudaStreamQuery(stream)


def _fault(runtime, kernel, arguments=()):
    runtime.launch(runtime.kernel(kernel), (1, 1, 1), (1, 1, 1), list(arguments))
    runtime.cudaDeviceSynchronize()
    runtime.cudaPeekAtLastError()
    runtime.cudaGetLastError()
    runtime.cudaGetLastError()
    runtime.cudaPeekAtLastError()
    runtime.cudaDeviceSynchronize()
    runtime.handle("cudaMalloc", 4)
    runtime.handle("cudaStreamCreate")
    device = c_int()
    runtime.cudaGetDevice(byref(device))
    runtime.cudaSetDevice(0)
    runtime.launch(0, (1, 1, 1), (1, 1, 1), [])
    runtime.cudaGetLastError()


def a_wild_access(runtime):
    _fault(runtime, "wild")


def a_trap(runtime):
    _fault(runtime, "trap")


def a_misaligned_access(runtime):
    _fault(runtime, "misaligned", [c_uint64(runtime.handle("cudaMalloc", 64))])


def a_reset_after_a_fault(runtime):
    runtime.launch(runtime.kernel("trap"), (1, 1, 1), (1, 1, 1), [])
    runtime.cudaDeviceSynchronize()
    runtime.cudaDeviceReset()
    runtime.cudaGetLastError()
    runtime.cudaDeviceSynchronize()
