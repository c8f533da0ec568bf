"""cuda.bindings: compiled with NVRTC, loaded, launched, timed by events, captured into a graph."""

import ctypes

import numpy as np
from cuda.bindings import driver, nvrtc

SOURCE = b"""
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""


def checked(answer):
    code, *values = answer
    assert code.value == 0, code
    return values[0] if len(values) == 1 else values


def compiled(source, major, minor):
    program = checked(nvrtc.nvrtcCreateProgram(source, b"saxpy.cu", 0, [], []))
    options = [f"--gpu-architecture=compute_{major}{minor}".encode()]
    code = nvrtc.nvrtcCompileProgram(program, len(options), options)[0]
    assert code == nvrtc.nvrtcResult.NVRTC_SUCCESS, code
    text = b" " * checked(nvrtc.nvrtcGetPTXSize(program))
    checked(nvrtc.nvrtcGetPTX(program, text))
    return text


checked(driver.cuInit(0))
device = checked(driver.cuDeviceGet(0))
print(checked(driver.cuDeviceGetName(64, device)).rstrip(b"\0").decode())
kind = driver.CUdevice_attribute
major = checked(
    driver.cuDeviceGetAttribute(kind.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device)
)
minor = checked(
    driver.cuDeviceGetAttribute(kind.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device)
)
context = checked(driver.cuDevicePrimaryCtxRetain(device))
checked(driver.cuCtxSetCurrent(context))

module = checked(driver.cuModuleLoadData(compiled(SOURCE, major, minor)))
saxpy = checked(driver.cuModuleGetFunction(module, b"saxpy"))
n = 10_000
x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
there = [checked(driver.cuMemAlloc(array.nbytes)) for array in (x, y)]
stream = checked(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING))
start, stop = (checked(driver.cuEventCreate(0)) for _ in range(2))
for pointer, array in zip(there, (x, y), strict=True):
    checked(driver.cuMemcpyHtoDAsync(pointer, array.ctypes.data, array.nbytes, stream))


def launch():
    values = (2.0, *there, n)
    types = (ctypes.c_float, None, None, ctypes.c_int)
    checked(
        driver.cuLaunchKernel(saxpy, -(-n // 256), 1, 1, 256, 1, 1, 0, stream, (values, types), 0)
    )


checked(driver.cuEventRecord(start, stream))
launch()
checked(driver.cuEventRecord(stop, stream))
checked(driver.cuEventSynchronize(stop))
assert checked(driver.cuEventElapsedTime(start, stop)) >= 0

checked(
    driver.cuStreamBeginCapture(stream, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL)
)
launch()
launch()
graph = checked(driver.cuStreamEndCapture(stream))
ready = checked(driver.cuGraphInstantiate(graph, 0))
for _ in range(3):
    checked(driver.cuGraphLaunch(ready, stream))
out = np.empty_like(y)
checked(driver.cuMemcpyDtoHAsync(out.ctypes.data, there[1], out.nbytes, stream))
checked(driver.cuStreamSynchronize(stream))
np.testing.assert_array_equal(out, 14 * x + 1)
print("well")
