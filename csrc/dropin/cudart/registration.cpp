// csrc/dropin/cudart/registration.cpp - functions that nvcc's host code calls: before main, and
// around each launch. crt/host_runtime.h declares them.
#include "dropin/cudart/cudart.hpp"
#include "dropin/cudart/registry.hpp"

#include <vector>

namespace cupola::cudart {
namespace {

struct Configuration {
    dim3 grid, block;
    std::size_t shared;
    cudaStream_t stream;
};

// `kernel<<<...>>>(f())` may launch another kernel in f, so several launches can be pending.
std::vector<Configuration>& configurations() {
    static thread_local std::vector<Configuration> stack;
    return stack;
}

Image* image_of(void** handle) { return reinterpret_cast<Image*>(handle); }

// Registration returns no result. If memory for an entry is missing, the program finds no such
// kernel later.
template <class Call>
void register_safely(Call call) noexcept {
    try {
        call(Registry::get());
    } catch (const std::bad_alloc&) {
        this_thread.last = cudaErrorMemoryAllocation;
    }
}

}  // namespace
}  // namespace cupola::cudart

using namespace cupola::cudart;

CUPOLA_CUDART void** __cudaRegisterFatBinary(void* wrapper) {
    Image* image = nullptr;
    register_safely([&](Registry& registry) { image = registry.add(wrapper); });
    return reinterpret_cast<void**>(image);
}

CUPOLA_CUDART void __cudaRegisterFatBinaryEnd(void**) {}

CUPOLA_CUDART void __cudaUnregisterFatBinary(void** handle) {
    Registry::get().remove(image_of(handle));
}

CUPOLA_CUDART void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name,
                                          int, uint3*, uint3*, dim3*, dim3*, int*) {
    register_safely(
        [&](Registry& registry) { registry.add_function(image_of(handle), host, name); });
}

CUPOLA_CUDART void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int,
                                     size_t, int, int) {
    register_safely(
        [&](Registry& registry) { registry.add_variable(image_of(handle), host, name, false); });
}

CUPOLA_CUDART void __cudaRegisterManagedVar(void** handle, void** host, char*, const char* name,
                                            int, size_t, int, int) {
    register_safely(
        [&](Registry& registry) { registry.add_variable(image_of(handle), host, name, true); });
}

// A program that has managed variables calls this function before it first uses a managed variable.
CUPOLA_CUDART char __cudaInitModule(void** handle) {
    CUlibrary library = nullptr;
    return entry([&](const Driver&) {
               return handle ? image_of(handle)->load(library) : cudaErrorInvalidKernelImage;
           }) == cudaSuccess;
}

CUPOLA_CUDART unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                                   struct CUstream_st* stream) {
    try {
        configurations().push_back({grid, block, shared, stream});
        return 0;
    } catch (const std::bad_alloc&) {
        return static_cast<unsigned>(record(cudaErrorMemoryAllocation));
    }
}

CUPOLA_CUDART cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared,
                                                     void* stream) {
    auto& stack = configurations();
    if (stack.empty()) return record(cudaErrorMissingConfiguration);
    const Configuration& last = stack.back();
    if (grid) *grid = last.grid;
    if (block) *block = last.block;
    if (shared) *shared = last.shared;
    if (stream) *static_cast<cudaStream_t*>(stream) = last.stream;
    stack.pop_back();
    return cudaSuccess;
}

// The host code passes the result to __cudaLaunchKernel without a look at the code. On failure it
// is the function itself, so that each launch fails for the same reason.
CUPOLA_CUDART cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
    return entry([&](const Driver&) {
        if (!kernel) return cudaErrorInvalidValue;
        CUkernel found = nullptr;
        const cudaError_t error = Registry::get().find_host_kernel(function, found);
        *kernel = error == cudaSuccess ? reinterpret_cast<cudaKernel_t>(found)
                                       : static_cast<cudaKernel_t>(const_cast<void*>(function));
        return runtime_major == 12 && function ? cudaSuccess : error;
    });
}
