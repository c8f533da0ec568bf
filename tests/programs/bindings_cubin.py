"""cuda.bindings: NVRTC's cubin for the device's own architecture, loaded as a library."""

import ctypes

import numpy as np
from cuda.bindings import driver, nvrtc

SOURCE = b"""
template <class T> __global__ void add(T* x, T y) { x[threadIdx.x] += y; }
"""


def checked(answer):
    code, *values = answer
    assert code.value == 0, code
    return values[0] if len(values) == 1 else values


checked(driver.cuInit(0))
device = checked(driver.cuDeviceGet(0))
kind = driver.CUdevice_attribute
major, minor = (
    checked(driver.cuDeviceGetAttribute(attribute, device))
    for attribute in (
        kind.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
        kind.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
    )
)
checked(driver.cuCtxSetCurrent(checked(driver.cuDevicePrimaryCtxRetain(device))))

program = checked(nvrtc.nvrtcCreateProgram(SOURCE, b"add.cu", 0, [], []))
checked(nvrtc.nvrtcAddNameExpression(program, b"add<int>"))
options = [f"--gpu-architecture=sm_{major}{minor}".encode(), b"-std=c++17"]
checked(nvrtc.nvrtcCompileProgram(program, len(options), options))
cubin = b" " * checked(nvrtc.nvrtcGetCUBINSize(program))
checked(nvrtc.nvrtcGetCUBIN(program, cubin))
name = checked(nvrtc.nvrtcGetLoweredName(program, b"add<int>"))

library = checked(driver.cuLibraryLoadData(cubin, [], [], 0, [], [], 0))
kernel = checked(driver.cuLibraryGetKernel(library, name))
x = np.arange(64, dtype=np.int32)
there = checked(driver.cuMemAlloc(x.nbytes))
checked(driver.cuMemcpyHtoD(there, x.ctypes.data, x.nbytes))
values = ((there, 5), (None, ctypes.c_int))
checked(driver.cuLaunchKernel(kernel, 1, 1, 1, x.size, 1, 1, 0, 0, values, 0))
out = np.empty_like(x)
checked(driver.cuMemcpyDtoH(out.ctypes.data, there, x.nbytes))
np.testing.assert_array_equal(out, x + 5)
checked(driver.cuLibraryUnload(library))
print(checked(driver.cuDeviceGetName(64, device)).rstrip(b"\0").decode())
print("well")
