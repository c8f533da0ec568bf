// csrc/dropin/cudart/device.cpp - devices: how many, which, and what they can do.
#include "dropin/cudart/channel.hpp"
#include "dropin/cudart/cudart.hpp"

namespace cupola::cudart {
namespace {

// Sets flags of the primary context. Flags of cudaDeviceMask that have no name are ignored, and so
// is cudaDeviceMapHost, which is always on.
cudaError_t set_flags(const Driver& d, CUdevice device, unsigned flags) {
    constexpr unsigned settable =
        cudaDeviceScheduleMask | cudaDeviceLmemResizeToMax | cudaDeviceSyncMemops;
    if (flags & ~unsigned{cudaDeviceMask}) return cudaErrorInvalidValue;
    return result_of(d.DevicePrimaryCtxSetFlags(device, flags & settable));
}

}  // namespace
}  // namespace cupola::cudart

using namespace cupola::cudart;

CUPOLA_CUDART cudaError_t cudaGetDeviceCount(int* count) {
    const cudaError_t result = entry_without_context([&](const Driver&) {
        if (!count) return cudaErrorInvalidValue;
        *count = Runtime::get().count();
        return cudaSuccess;
    });
    if (result != cudaSuccess && count) *count = 0;
    return result;
}

CUPOLA_CUDART cudaError_t cudaGetDevice(int* ordinal) {
    return entry_without_context([&](const Driver&) {
        return ordinal ? Runtime::get().current(*ordinal) : cudaErrorInvalidValue;
    });
}

CUPOLA_CUDART cudaError_t cudaSetDevice(int ordinal) {
    return entry_without_context([&](const Driver&) { return Runtime::get().choose(ordinal); });
}

CUPOLA_CUDART cudaError_t cudaSetValidDevices(int* ordinals, int count) {
    return entry_without_context(
        [&](const Driver&) { return Runtime::get().prefer(ordinals, count); });
}

CUPOLA_CUDART cudaError_t cudaInitDevice(int ordinal, unsigned device_flags, unsigned flags) {
    return entry_with_device(ordinal, [&](const Driver& d, CUdevice device) -> cudaError_t {
        if (flags & cudaInitDeviceFlagsAreValid)
            if (const cudaError_t error = set_flags(d, device, device_flags); error != cudaSuccess)
                return error;
        CUcontext primary = nullptr;
        return Runtime::get().primary_of(ordinal, primary);
    });
}

CUPOLA_CUDART cudaError_t cudaSetDeviceFlags(unsigned flags) {
    return entry_without_context([&](const Driver& d) -> cudaError_t {
        int ordinal = 0;
        if (const cudaError_t error = Runtime::get().current(ordinal); error != cudaSuccess)
            return error;
        CUdevice device = 0;
        Runtime::get().find(ordinal, device);
        if (const cudaError_t error = set_flags(d, device, flags); error != cudaSuccess)
            return error;
        return Runtime::get().enter();
    });
}

CUPOLA_CUDART cudaError_t cudaGetDeviceFlags(unsigned* flags) {
    return entry_without_context([&](const Driver& d) -> cudaError_t {
        if (!flags) return cudaErrorInvalidValue;
        int ordinal = 0;
        if (const cudaError_t error = Runtime::get().current(ordinal); error != cudaSuccess)
            return error;
        CUcontext context = nullptr;
        if (d.CtxGetCurrent(&context) == CUDA_SUCCESS && context)
            if (!Runtime::get().is_primary(context, ordinal))
                return result_of(d.CtxGetFlags(flags));
        CUdevice device = 0;
        Runtime::get().find(ordinal, device);
        int active = 0;
        const CUresult result = d.DevicePrimaryCtxGetState(device, flags, &active);
        // This flag is always on in primary contexts. NVIDIA's runtime shows no flags from a reset
        // until the next context.
        if (active || !Runtime::get().was_reset(ordinal)) *flags |= cudaDeviceMapHost;
        return result_of(result);
    });
}

CUPOLA_CUDART cudaError_t cudaDeviceReset() {
    return entry_without_context([](const Driver&) { return Runtime::get().reset(); });
}

CUPOLA_CUDART cudaError_t cudaDeviceSynchronize() {
    return entry([](const Driver& d) { return d.CtxSynchronize(); });
}

CUPOLA_CUDART cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute,
                                                 int ordinal) {
    if (!value) return entry_without_context([](const Driver&) { return cudaErrorInvalidValue; });
    return entry_with_device(ordinal, [&](const Driver& d, CUdevice device) {
        return d.DeviceGetAttribute(value, static_cast<CUdevice_attribute>(attribute), device);
    });
}

CUPOLA_CUDART cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t* width,
                                                               const cudaChannelFormatDesc* form,
                                                               int ordinal) {
    return entry_with_device(ordinal, [&](const Driver& d, CUdevice device) -> cudaError_t {
        if (!width || !form) return cudaErrorInvalidValue;
        ElementFormat format{};
        if (const cudaError_t error = format_of(*form, format); error != cudaSuccess) return error;
        return result_of(
            d.DeviceGetTexture1DLinearMaxWidth(width, format.format, format.channels, device));
    });
}

CUPOLA_CUDART cudaError_t cudaDeviceGetByPCIBusId(int* ordinal, const char* id) {
    return entry_without_context([&](const Driver& d) {
        if (!ordinal || !id) return CUDA_ERROR_INVALID_VALUE;
        CUdevice device = 0;
        const CUresult result = d.DeviceGetByPCIBusId(&device, id);
        if (result == CUDA_SUCCESS) *ordinal = Runtime::get().ordinal_of(device);
        return result;
    });
}

CUPOLA_CUDART cudaError_t cudaDeviceGetPCIBusId(char* id, int length, int ordinal) {
    return entry_with_device(ordinal, [&](const Driver& d, CUdevice device) {
        return id ? d.DeviceGetPCIBusId(id, length, device) : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaDeviceRegisterAsyncNotification(int ordinal,
                                                              cudaAsyncCallback function,
                                                              void* data,
                                                              cudaAsyncCallbackHandle_t* handle) {
    return entry_with_device(ordinal, [&](const Driver& d, CUdevice device) {
        if (!function || !handle) return CUDA_ERROR_INVALID_VALUE;
        return d.DeviceRegisterAsyncNotification(device,
                                                 reinterpret_cast<CUasyncCallback>(function), data,
                                                 reinterpret_cast<CUasyncCallbackHandle*>(handle));
    });
}

CUPOLA_CUDART cudaError_t cudaDeviceUnregisterAsyncNotification(int ordinal,
                                                                cudaAsyncCallbackHandle_t handle) {
    if (!handle) return record(cudaErrorInvalidValue);
    return entry_with_device(ordinal, [&](const Driver& d, CUdevice device) {
        return d.DeviceUnregisterAsyncNotification(device,
                                                   reinterpret_cast<CUasyncCallbackHandle>(handle));
    });
}

CUPOLA_CUDART cudaError_t cudaDriverGetVersion(int* version) {
    if (!version) return record(cudaErrorInvalidValue);
    Runtime::get().start();  // without a device, the driver still has a version
    *version = 0;
    const Driver& d = driver_tables[0];
    return d.DriverGetVersion ? record(result_of(d.DriverGetVersion(version))) : cudaSuccess;
}

CUPOLA_CUDART cudaError_t cudaProfilerStart() {
    return entry([](const Driver& d) { return d.ProfilerStart(); });
}

// Before the process has a context, there is nothing to stop.
CUPOLA_CUDART cudaError_t cudaProfilerStop() {
    return entry_without_context([](const Driver& d) {
        const CUresult result = d.ProfilerStop();
        return result == CUDA_ERROR_INVALID_CONTEXT ? CUDA_SUCCESS : result;
    });
}

// The runtime has no tables of functions for tools.
CUPOLA_CUDART cudaError_t cudaGetExportTable(const void** table, const cudaUUID_t* id) {
    if (!table || !id) return record(cudaErrorInvalidValue);
    *table = nullptr;
    return record(cudaErrorInvalidValue);
}
