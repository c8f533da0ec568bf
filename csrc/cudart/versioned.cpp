// csrc/cudart/versioned.cpp - functions whose parameters differ between versions 12 and 13 of the
// runtime, without those that take a stream.
#include "cudart/properties.hpp"
#include "cudart/runtime.hpp"

using namespace cupola::cudart;

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
CUPOLA_CUDART cudaError_t cudaSetDoubleForDevice(double* value) {
    return entry_without_context(
        [&](const Driver&) { return value ? cudaSuccess : cudaErrorInvalidValue; });
}

CUPOLA_CUDART cudaError_t cudaSetDoubleForHost(double* value) {
    return entry_without_context(
        [&](const Driver&) { return value ? cudaSuccess : cudaErrorInvalidValue; });
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
    return entry_without_context([&](const Driver&) -> cudaError_t {
        CUdevice device = 0;
        if (!Runtime::get().find(ordinal, device)) return cudaErrorInvalidDevice;
        if (!capabilities || !operations || count == 0) return cudaErrorInvalidValue;
        return result_of(call_newer("cuDeviceGetHostAtomicCapabilities", 13000, capabilities,
                                    operations, count, device));
    });
}

CUPOLA_CUDART cudaError_t cudaDeviceGetP2PAtomicCapabilities(unsigned* capabilities,
                                                             const int* operations, unsigned count,
                                                             int source, int target) {
    return entry_without_context([&](const Driver&) -> cudaError_t {
        CUdevice from = 0, to = 0;
        const Runtime& runtime = Runtime::get();
        if (!runtime.find(source, from) || !runtime.find(target, to) || from == to)
            return cudaErrorInvalidDevice;
        if (!capabilities || !operations || count == 0) return cudaErrorInvalidValue;
        return result_of(call_newer("cuDeviceGetP2PAtomicCapabilities", 13000, capabilities,
                                    operations, count, from, to));
    });
}
#endif

CUPOLA_CUDART cudaError_t cudaChooseDevice(int* ordinal, const cudaDeviceProp* wanted) {
    return entry_without_context(
        [&](const Driver&) { return choose_by_properties(property_form, ordinal, wanted); });
}
