# cython: language_level=3
# examples/plugin/bare.pyx - the CUDA driver itself, called from Cython without linking it.
"""Loads a module, allocates, copies, launches and frees by the driver's own functions alone.

They are those of the driver that cupola uses, NVIDIA's or the CPU device: cupola.driver.pxd
declares them. Everything else, contexts and streams among it, is the caller's affair.
"""
from cupola.driver cimport (
    CUcontext, CUdevice, CUdeviceptr, CUfunction, CUmodule, check_result, cuCtxPopCurrent,
    cuCtxPushCurrent, cuDeviceGet, cuDevicePrimaryCtxRetain, cuLaunchKernel, cuMemAlloc, cuMemFree,
    cuMemcpyDtoHAsync, cuMemcpyHtoDAsync, cuModuleGetFunction, cuModuleLoadDataEx, cuModuleUnload,
    cuStreamSynchronize, ensure,
)

PTX = b"""
.version 7.0
.target sm_52
.address_size 64
.visible .entry scale(.param .u64 data, .param .f32 factor, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %r<5>;
    .reg .f32 %f<3>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd0, [data];
    ld.param.f32 %f0, [factor];
    ld.param.u32 %r0, [n];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    setp.ge.u32 %p, %r4, %r0;
    @%p bra DONE;
    cvta.to.global.u64 %rd0, %rd0;
    mul.wide.u32 %rd1, %r4, 4;
    add.s64 %rd2, %rd0, %rd1;
    ld.global.f32 %f1, [%rd2];
    mul.rn.f32 %f2, %f1, %f0;
    st.global.f32 [%rd2], %f2;
DONE:
    ret;
}
"""


def scale(float[::1] values not None, float factor):
    """Multiply the values in place, on device 0."""
    cdef CUdevice device
    cdef CUcontext context
    ensure()  # an exception tells why, where there is no driver
    check_result(cuDeviceGet(&device, 0), "cuDeviceGet")
    # The context that all libraries of a process share; like cupola, we keep it to the end.
    check_result(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain")
    if values.shape[0]:
        scale_in(context, PTX, &values[0], values.shape[0], factor)


cdef int scale_in(
    CUcontext context, const char* ptx, float* values, unsigned n, float factor
) except -1:
    cdef CUmodule module = NULL
    cdef CUfunction function
    cdef CUdeviceptr address = 0
    cdef size_t nbytes = n * sizeof(float)
    cdef void** arguments = [&address, &factor, &n]
    with nogil:
        check_result(cuCtxPushCurrent(context), "cuCtxPushCurrent")
        try:
            check_result(
                cuModuleLoadDataEx(&module, ptx, 0, NULL, NULL), "cuModuleLoadDataEx")
            check_result(
                cuModuleGetFunction(&function, module, "scale"), "cuModuleGetFunction")
            check_result(cuMemAlloc(&address, nbytes), "cuMemAlloc")
            check_result(
                cuMemcpyHtoDAsync(address, values, nbytes, NULL), "cuMemcpyHtoDAsync")
            check_result(
                cuLaunchKernel(
                    function, (n + 127) // 128, 1, 1, 128, 1, 1, 0, NULL, arguments, NULL),
                "cuLaunchKernel")
            check_result(
                cuMemcpyDtoHAsync(values, address, nbytes, NULL), "cuMemcpyDtoHAsync")
            check_result(cuStreamSynchronize(NULL), "cuStreamSynchronize")
        finally:
            if address:
                cuMemFree(address)
            if module != NULL:
                cuModuleUnload(module)
            cuCtxPopCurrent(&context)
    return 0
