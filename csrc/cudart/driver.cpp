// csrc/cudart/driver.cpp - loads libcuda.so.1 and looks its functions up.
#include "cudart/driver.hpp"

#include <dlfcn.h>

namespace cupola::cudart {

Driver driver_tables[2];

namespace {

// It may ignore the arguments: in the C calling conventions of x86-64 and aarch64 Linux, the caller
// passes and removes them.
int missing() { return CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER; }

template <class Function>
void look_up(PFN_cuGetProcAddress_v12000 find, const char* name, int version, cuuint64_t flags,
             Function*& function) {
    void* found = nullptr;
    CUdriverProcAddressQueryResult status;
    if (find(name, &found, version, flags, &status) != CUDA_SUCCESS || !found)
        found = reinterpret_cast<void*>(&missing);
    function = reinterpret_cast<Function*>(found);
}

}  // namespace

cudaError_t load_driver() {
    // Never closed: the program's own libraries may hold its functions.
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return cudaErrorInsufficientDriver;
    const auto find =
        reinterpret_cast<PFN_cuGetProcAddress_v12000>(dlsym(library, "cuGetProcAddress_v2"));
    if (!find) return cudaErrorInsufficientDriver;
    for (const bool own : {false, true}) {
        Driver& table = driver_tables[own];
        const cuuint64_t flags =
            own ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : CU_GET_PROC_ADDRESS_LEGACY_STREAM;
#define CUPOLA_MEMBER(name, version) look_up(find, "cu" #name, version, flags, table.name);
#include "cudart/driver_symbols.def"
#undef CUPOLA_MEMBER
    }
    return cudaSuccess;
}

}  // namespace cupola::cudart
