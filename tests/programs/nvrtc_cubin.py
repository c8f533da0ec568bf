"""ctypes: a cubin from NVRTC, by the library's plain names, loaded and linked by the driver."""

import ctypes
import sys
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p

cuda, nvrtc = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL(sys.argv[1])
SOURCE = b'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }'


def call(library, name, *arguments):
    code = getattr(library, name)(*arguments)
    if code:
        sys.exit(f"{name} returned {code}")


def compiled(kind, *options):
    """NVRTC's cubin, PTX or LTO-IR; empty where it gives none."""
    program, size = c_void_p(), c_size_t()
    call(nvrtc, "nvrtcCreateProgram", byref(program), SOURCE, b"twice.cu", 0, None, None)
    given = (c_char_p * len(options))(*options)
    call(nvrtc, "nvrtcCompileProgram", program, len(options), given)
    call(nvrtc, f"nvrtcGet{kind}Size", program, byref(size))
    content = ctypes.create_string_buffer(size.value)
    if size.value:
        call(nvrtc, f"nvrtcGet{kind}", program, content)
    call(nvrtc, "nvrtcDestroyProgram", byref(program))
    return content.raw


def run(module):
    function, there = c_void_p(), c_void_p()
    call(cuda, "cuModuleGetFunction", byref(function), module, b"twice")
    data = (ctypes.c_float * 32)(*range(32))
    call(cuda, "cuMemAlloc_v2", byref(there), c_size_t(ctypes.sizeof(data)))
    call(cuda, "cuMemcpyHtoD_v2", there, data, c_size_t(ctypes.sizeof(data)))
    arguments = (c_void_p * 1)(ctypes.addressof(there))
    call(cuda, "cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, None, arguments, None)
    call(cuda, "cuMemcpyDtoH_v2", data, there, c_size_t(ctypes.sizeof(data)))
    assert list(data) == [2 * i for i in range(32)]


device, context = c_int(), c_void_p()
call(cuda, "cuInit", 0)
call(cuda, "cuDeviceGet", byref(device), 0)
call(cuda, "cuCtxCreate_v2", byref(context), 0, device)

for options in ([b"--gpu-architecture=sm_80"], [b"-arch", b"sm_90a", b"-rdc=true"]):
    cubin = compiled("CUBIN", *options)
    assert cubin == compiled("PTX", *options) and b".entry twice" in cubin
    module, state, image, size = c_void_p(), c_void_p(), c_void_p(), c_size_t()
    call(cuda, "cuModuleLoadData", byref(module), cubin)
    run(module)
    call(cuda, "cuLinkCreate_v2", 0, None, None, byref(state))
    of_cubin = 0  # CU_JIT_INPUT_CUBIN
    data = (state, of_cubin, cubin, c_size_t(len(cubin)), b"twice.cubin", 0, None, None)
    call(cuda, "cuLinkAddData_v2", *data)
    call(cuda, "cuLinkComplete", state, byref(image), byref(size))
    call(cuda, "cuModuleLoadData", byref(module), image)
    run(module)
    call(cuda, "cuLinkDestroy", state)

# Other outputs than a cubin are unchanged.
assert compiled("CUBIN", b"-arch=compute_80") == b""
assert compiled("CUBIN", b"-arch=sm_80", b"-dlto") == b""
assert compiled("LTOIR", b"-arch=sm_80", b"-dlto")
assert nvrtc.nvrtcGetCUBINSize(None, byref(c_size_t())) != 0
nvrtc.nvrtcGetErrorString.restype = c_char_p
assert b"COMPILATION" in nvrtc.nvrtcGetErrorString(6)
print("well")
