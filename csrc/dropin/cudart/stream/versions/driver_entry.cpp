// csrc/dropin/cudart/stream/versions/driver_entry.cpp - the driver's functions for programs that
// call them. The version that a name means by default is that of the runtime.
#include "dropin/cudart/names.hpp"
#include "dropin/cudart/runtime.hpp"

using namespace cupola::cudart;

namespace cupola::cudart {
namespace {

// A missing symbol is no error: the pointer is null, and the status says why.
cudaError_t get_entry_point(const char* name, void** function, unsigned version,
                            unsigned long long flags, int* status) {
    return entry_without_context([&](const Driver& d) {
        if (!name || !function) return CUDA_ERROR_INVALID_VALUE;
        if (flags == cudaEnableDefault)
            flags = per_thread ? cudaEnablePerThreadDefaultStream : cudaEnableLegacyStream;
        CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
        const CUresult result =
            d.GetProcAddress(name, function, static_cast<int>(version), flags, &found);
        if (result == CUDA_SUCCESS && status) *status = static_cast<int>(found);
        return result;
    });
}

}  // namespace
}  // namespace cupola::cudart

CUPOLA_CUDART cudaError_t CUPOLA_OWN(cudaGetDriverEntryPoint)(const char* name, void** function,
                                                              unsigned long long flags,
                                                              int* status) {
    return get_entry_point(name, function, CUPOLA_CUDART_MAJOR == 12 ? 12090 : 13000, flags,
                           status);
}

CUPOLA_CUDART cudaError_t CUPOLA_OWN(cudaGetDriverEntryPointByVersion)(
    const char* name, void** function, unsigned version, unsigned long long flags, int* status) {
    return get_entry_point(name, function, version, flags, status);
}
