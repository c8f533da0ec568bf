"""ctypes with the names of CUDA 2: what scripts bind that were written from the manual."""

import ctypes
import sys

cuda = ctypes.CDLL("libcuda.so.1")
PTX = b"""
.version 6.0
.target sm_50
.address_size 64
.visible .entry doublify(.param .u64 a)
{
    .reg .u64 %a, %o; .reg .u32 %i; .reg .f32 %x;
    ld.param.u64 %a, [a];
    mov.u32 %i, %tid.x;
    mul.wide.u32 %o, %i, 4;
    add.u64 %a, %a, %o;
    ld.global.f32 %x, [%a];
    add.f32 %x, %x, %x;
    st.global.f32 [%a], %x;
    ret;
}
"""


def call(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    if code:
        sys.exit(f"{name} returned {code}")


device, context, module, function = (ctypes.c_int(), *(ctypes.c_void_p() for _ in range(3)))
name, size = ctypes.create_string_buffer(100), ctypes.c_size_t()
call("cuInit", 0)
call("cuDeviceGet", ctypes.byref(device), 0)
call("cuDeviceGetName", name, len(name), device)
call("cuDeviceTotalMem", ctypes.byref(size), device)
print(name.value.decode())
call("cuCtxCreate", ctypes.byref(context), 0, device)
call("cuModuleLoadData", ctypes.byref(module), PTX)
call("cuModuleGetFunction", ctypes.byref(function), module, b"doublify")
data = (ctypes.c_float * 32)(*range(32))
there = ctypes.c_void_p()
call("cuMemAlloc", ctypes.byref(there), ctypes.c_size_t(ctypes.sizeof(data)))
call("cuMemcpyHtoD", there, data, ctypes.c_size_t(ctypes.sizeof(data)))
call("cuFuncSetBlockShape", function, 32, 1, 1)
call("cuParamSetv", function, 0, ctypes.byref(there), ctypes.sizeof(there))
call("cuParamSetSize", function, ctypes.sizeof(there))
call("cuLaunchGrid", function, 1, 1)
arguments = (ctypes.c_void_p * 1)(ctypes.addressof(there))
call("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, None, arguments, None)
call("cuCtxSynchronize")
call("cuMemcpyDtoH", data, there, ctypes.c_size_t(ctypes.sizeof(data)))
assert list(data) == [4 * i for i in range(32)]
call("cuMemFree", there)
call("cuModuleUnload", module)
call("cuCtxDestroy", context)
print("well")
