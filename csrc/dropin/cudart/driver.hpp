// csrc/dropin/cudart/driver.hpp - the driver's functions, found at run time.
#pragma once

#include <cudaProfilerTypedefs.h>
#include <cudaTypedefs.h>

#include "dropin/cudart/types.hpp"

namespace cupola::cudart {

// A function that this driver lacks returns CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER.
struct Driver {
#define CUPOLA_MEMBER(name, version) PFN_cu##name##_v##version name = nullptr;
#include "dropin/cudart/driver_symbols.def"
#undef CUPOLA_MEMBER
};

// Functions that take a stream. In the first table, stream 0 is the legacy stream; in the second
// table, the thread's own default stream.
extern Driver driver_tables[2];

// Loads libcuda.so.1 and fills the tables, without cuInit. Call it once.
// cudaErrorInsufficientDriver: there is no driver, or one that lacks cuGetProcAddress.
cudaError_t load_driver();

// The reason why the CPU device refused this thread's last kernel or image; null with another
// driver.
const char* last_refusal();

// A function of a newer CUDA version than the oldest toolkit that cupola is built with. `version`
// is that of its parameters. It is never null: like the tables' functions, a missing one returns
// CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER. The driver must be loaded.
void* find_driver_function(const char* name, int version, bool own_stream);

// Calls a function of a newer CUDA version. The arguments must have the exact types of the
// function's parameters.
template <class... Arguments>
CUresult call_newer(const char* name, int version, Arguments... arguments) {
    return reinterpret_cast<CUresult (*)(Arguments...)>(
        find_driver_function(name, version, per_thread))(arguments...);
}

// The runtime's pointers and handles are the driver's.
inline CUdeviceptr device_address(const void* pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
}
inline CUdeviceptr* address_result(void** pointer) {
    return reinterpret_cast<CUdeviceptr*>(pointer);
}
inline CUarray driver_array(cudaArray_const_t array) {
    return reinterpret_cast<CUarray>(const_cast<cudaArray*>(array));
}
inline CUmipmappedArray driver_mipmap(cudaMipmappedArray_const_t mipmap) {
    return reinterpret_cast<CUmipmappedArray>(const_cast<cudaMipmappedArray*>(mipmap));
}

inline CUmemLocation driver_location(cudaMemLocation location) {
    CUmemLocation made{};
    made.type = static_cast<CUmemLocationType>(location.type);
    made.id = location.id;
    return made;
}
// The location of a device ordinal, or of cudaCpuDeviceId.
inline cudaMemLocation location_of(int device) {
    cudaMemLocation made{};
    made.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
    made.id = device == cudaCpuDeviceId ? 0 : device;
    return made;
}

}  // namespace cupola::cudart
