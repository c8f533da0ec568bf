// csrc/dropin/cudart/driver.cpp - loads libcuda.so.1 and looks its functions up.
#include "dropin/cudart/driver.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <initializer_list>

namespace cupola::cudart {

Driver driver_tables[2];

namespace {

// The function may ignore the arguments: in the C calling conventions of x86-64 and aarch64 Linux,
// the caller passes and removes them.
int missing() { return 36; }  // CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, a name of CUDA 13's headers

PFN_cuGetProcAddress_v12000 get_address = nullptr;
const char* (*get_refusal)() = nullptr;

template <class Function>
void look_up(const char* name, int version, bool own, Function*& function) {
    function = reinterpret_cast<Function*>(find_driver_function(name, version, own));
}

}  // namespace

void* find_driver_function(const char* name, int version, bool own_stream) {
    // Forms for the thread's own default stream came with CUDA 7. Their parameters are those of the
    // older forms.
    if (own_stream) version = std::max(version, 7000);
    const cuuint64_t flags = own_stream ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
                                        : CU_GET_PROC_ADDRESS_LEGACY_STREAM;
    void* found = nullptr;
    CUdriverProcAddressQueryResult status;
    if (get_address(name, &found, version, flags, &status) == CUDA_SUCCESS && found) return found;
    return reinterpret_cast<void*>(&missing);
}

const char* last_refusal() { return get_refusal ? get_refusal() : nullptr; }

cudaError_t load_driver() {
    // Never closed: the program's own libraries may hold its functions.
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return cudaErrorInsufficientDriver;
    get_address =
        reinterpret_cast<PFN_cuGetProcAddress_v12000>(dlsym(library, "cuGetProcAddress_v2"));
    if (!get_address) return cudaErrorInsufficientDriver;
    get_refusal = reinterpret_cast<const char* (*)()>(dlsym(library, "cupola_cpu_last_refusal"));
    for (const bool own : {false, true}) {
        Driver& table = driver_tables[own];
#define CUPOLA_MEMBER(name, version) look_up("cu" #name, version, own, table.name);
#include "dropin/cudart/driver_symbols.def"
#undef CUPOLA_MEMBER
    }
    return cudaSuccess;
}

}  // namespace cupola::cudart
