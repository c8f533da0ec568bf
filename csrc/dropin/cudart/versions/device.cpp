// csrc/dropin/cudart/versions/device.cpp - functions of devices and of threads whose parameters
// differ between versions 12 and 13 of the runtime, or that one of them lacks.
#include <vector>

#include "dropin/cudart/properties.hpp"
#include "dropin/cudart/registry.hpp"
#include "dropin/cudart/runtime.hpp"

using namespace cupola::cudart;

const int cupola::cudart::runtime_major = CUPOLA_CUDART_MAJOR;

CUPOLA_CUDART cudaError_t cudaRuntimeGetVersion(int* version) {
    if (!version) return record(cudaErrorInvalidValue);
    *version = CUPOLA_CUDART_MAJOR == 12 ? 12090 : 13000;
    return cudaSuccess;
}

#if CUPOLA_CUDART_MAJOR == 12
constexpr PropertyForm property_form = PropertyForm::of_12;

CUPOLA_CUDART cudaError_t cudaGetDeviceProperties_v2(cudaDeviceProp* properties, int ordinal) {
    return entry_without_context(
        [&](const Driver&) { return get_properties(PropertyForm::of_12, properties, ordinal); });
}

// The form of 11: headers of 12 rename calls to the function above.
CUPOLA_CUDART cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int ordinal) {
    return entry_without_context(
        [&](const Driver&) { return get_properties(PropertyForm::of_11, properties, ordinal); });
}

CUPOLA_CUDART cudaError_t cudaThreadExit() {
    return entry_without_context([](const Driver&) { return Runtime::get().reset(); });
}

CUPOLA_CUDART cudaError_t cudaThreadSynchronize() {
    return entry([](const Driver& d) { return d.CtxSynchronize(); });
}

CUPOLA_CUDART cudaError_t cudaThreadGetLimit(size_t* value, cudaLimit limit) {
    return entry([&](const Driver& d) {
        return value ? d.CtxGetLimit(value, static_cast<CUlimit>(limit)) : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaThreadSetLimit(cudaLimit limit, size_t value) {
    return entry(
        [&](const Driver& d) { return d.CtxSetLimit(static_cast<CUlimit>(limit), value); });
}

CUPOLA_CUDART cudaError_t cudaThreadGetCacheConfig(cudaFuncCache* config) {
    return entry([&](const Driver& d) {
        return config ? d.CtxGetCacheConfig(reinterpret_cast<CUfunc_cache*>(config))
                      : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaThreadSetCacheConfig(cudaFuncCache config) {
    return entry(
        [&](const Driver& d) { return d.CtxSetCacheConfig(static_cast<CUfunc_cache>(config)); });
}

// All devices compute with doubles, so there is nothing to convert.
CUPOLA_CUDART cudaError_t cudaSetDoubleForDevice(double*) {
    return entry_without_context([](const Driver&) { return cudaSuccess; });
}

CUPOLA_CUDART cudaError_t cudaSetDoubleForHost(double*) {
    return entry_without_context([](const Driver&) { return cudaSuccess; });
}

// Version 13 lacks this function; the driver's function has the same parameters except for the
// kernel.
struct LaunchParameters {
    const void* function;
    dim3 grid, block;
    void** arguments;
    size_t shared;
    cudaStream_t stream;
};

CUPOLA_CUDART cudaError_t cudaLaunchCooperativeKernelMultiDevice(const LaunchParameters* launches,
                                                                 unsigned count, unsigned flags) {
    return entry([&](const Driver& d) -> cudaError_t {
        if (!launches || count == 0) return cudaErrorInvalidValue;
        std::vector<CUDA_LAUNCH_PARAMS> wanted(count);
        for (unsigned n = 0; n < count; ++n) {
            const LaunchParameters& launch = launches[n];
            CUkernel kernel = nullptr;
            if (const cudaError_t found = Registry::get().find_host_kernel(launch.function, kernel);
                found != cudaSuccess)
                return found;
            CUcontext context = nullptr;
            CUgreenCtx green = nullptr;
            CUresult result = d.StreamGetCtx(launch.stream, &context, &green);
            if (result == CUDA_SUCCESS) result = d.CtxPushCurrent(context);
            if (result != CUDA_SUCCESS) return result_of(result);
            result = d.KernelGetFunction(&wanted[n].function, kernel);
            d.CtxPopCurrent(&context);
            if (result != CUDA_SUCCESS) return result_of(result);
            wanted[n].gridDimX = launch.grid.x;
            wanted[n].gridDimY = launch.grid.y;
            wanted[n].gridDimZ = launch.grid.z;
            wanted[n].blockDimX = launch.block.x;
            wanted[n].blockDimY = launch.block.y;
            wanted[n].blockDimZ = launch.block.z;
            wanted[n].sharedMemBytes = static_cast<unsigned>(launch.shared);
            wanted[n].hStream = launch.stream;
            wanted[n].kernelParams = launch.arguments;
        }
        return result_of(d.LaunchCooperativeKernelMultiDevice(wanted.data(), count, flags));
    });
}

// This function may return other errors of pending work than cudaEventElapsedTime.
CUPOLA_CUDART cudaError_t cudaEventElapsedTime_v2(float* milliseconds, cudaEvent_t start,
                                                  cudaEvent_t end) {
    return entry([&](const Driver& d) {
        return milliseconds ? d.EventElapsedTime(milliseconds, start, end)
                            : CUDA_ERROR_INVALID_VALUE;
    });
}
#else
constexpr PropertyForm property_form = PropertyForm::of_13;

CUPOLA_CUDART cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int ordinal) {
    return entry_without_context(
        [&](const Driver&) { return get_properties(property_form, properties, ordinal); });
}

// The driver has these two since 13.0. The enumerations of operations have the same numbers.
CUPOLA_CUDART cudaError_t cudaDeviceGetHostAtomicCapabilities(unsigned* capabilities,
                                                              const int* operations, unsigned count,
                                                              int ordinal) {
    return entry_with_device(ordinal, [&](const Driver&, CUdevice device) {
        return capabilities && operations && count > 0
                   ? call_newer("cuDeviceGetHostAtomicCapabilities", 13000, capabilities,
                                operations, count, device)
                   : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaDeviceGetP2PAtomicCapabilities(unsigned* capabilities,
                                                             const int* operations, unsigned count,
                                                             int source, int target) {
    return entry_without_context([&](const Driver&) -> cudaError_t {
        CUdevice from = 0, to = 0;
        const Runtime& runtime = Runtime::get();
        if (!capabilities || !operations || count == 0) return cudaErrorInvalidValue;
        if (!runtime.find(source, from) || !runtime.find(target, to) || from == to)
            return cudaErrorInvalidDevice;
        return result_of(call_newer("cuDeviceGetP2PAtomicCapabilities", 13000, capabilities,
                                    operations, count, from, to));
    });
}

// Logs are of the driver, since 12.9. Their types are a pointer and an integer.
CUPOLA_CUDART cudaError_t cudaLogsRegisterCallback(void* function, void* data, void** handle) {
    return entry_without_context([&](const Driver&) {
        return call_newer("cuLogsRegisterCallback", 12090, function, data, handle);
    });
}

CUPOLA_CUDART cudaError_t cudaLogsUnregisterCallback(void* handle) {
    return entry_without_context(
        [&](const Driver&) { return call_newer("cuLogsUnregisterCallback", 12090, handle); });
}

CUPOLA_CUDART cudaError_t cudaLogsCurrent(unsigned* position, unsigned flags) {
    return entry_without_context(
        [&](const Driver&) { return call_newer("cuLogsCurrent", 12090, position, flags); });
}

CUPOLA_CUDART cudaError_t cudaLogsDumpToFile(unsigned* position, const char* file, unsigned flags) {
    return entry_without_context([&](const Driver&) {
        return call_newer("cuLogsDumpToFile", 12090, position, file, flags);
    });
}

CUPOLA_CUDART cudaError_t cudaLogsDumpToMemory(unsigned* position, char* buffer, size_t* bytes,
                                               unsigned flags) {
    return entry_without_context([&](const Driver&) {
        return call_newer("cuLogsDumpToMemory", 12090, position, buffer, bytes, flags);
    });
}
#endif

CUPOLA_CUDART cudaError_t cudaChooseDevice(int* ordinal, const cudaDeviceProp* wanted) {
    return entry_without_context(
        [&](const Driver&) { return choose_by_properties(property_form, ordinal, wanted); });
}
