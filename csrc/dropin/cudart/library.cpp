// csrc/dropin/cudart/library.cpp - code that the program loads itself.
#include <vector>

#include "dropin/cudart/cudart.hpp"
#include "dropin/cudart/registry.hpp"

namespace cupola::cudart {
namespace {

CUlibrary driver_library(cudaLibrary_t library) { return reinterpret_cast<CUlibrary>(library); }

std::vector<CUkernel> kernels_of(const Driver& d, CUlibrary library) {
    unsigned count = 0;
    if (d.LibraryGetKernelCount(&count, library) != CUDA_SUCCESS) return {};
    std::vector<CUkernel> kernels(count);
    if (d.LibraryEnumerateKernels(kernels.data(), count, library) != CUDA_SUCCESS) return {};
    return kernels;
}

}  // namespace
}  // namespace cupola::cudart

using namespace cupola::cudart;

// The runtime's options have the driver's numbers.
CUPOLA_CUDART cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code,
                                              cudaJitOption* jit_options, void** jit_values,
                                              unsigned jit_count,
                                              cudaLibraryOption* library_options,
                                              void** library_values, unsigned library_count) {
    return entry_without_context([&](const Driver& d) {
        if (!library || !code) return CUDA_ERROR_INVALID_VALUE;
        return d.LibraryLoadData(reinterpret_cast<CUlibrary*>(library), code,
                                 reinterpret_cast<CUjit_option*>(jit_options), jit_values,
                                 jit_count, reinterpret_cast<CUlibraryOption*>(library_options),
                                 library_values, library_count);
    });
}

CUPOLA_CUDART cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* file,
                                                  cudaJitOption* jit_options, void** jit_values,
                                                  unsigned jit_count,
                                                  cudaLibraryOption* library_options,
                                                  void** library_values, unsigned library_count) {
    return entry([&](const Driver& d) {
        if (!library || !file) return CUDA_ERROR_INVALID_VALUE;
        return d.LibraryLoadFromFile(reinterpret_cast<CUlibrary*>(library), file,
                                     reinterpret_cast<CUjit_option*>(jit_options), jit_values,
                                     jit_count, reinterpret_cast<CUlibraryOption*>(library_options),
                                     library_values, library_count);
    });
}

CUPOLA_CUDART cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
    return entry([&](const Driver& d) {
        if (!library) return CUDA_ERROR_INVALID_HANDLE;
        const std::vector<CUkernel> kernels = kernels_of(d, driver_library(library));
        const CUresult result = d.LibraryUnload(driver_library(library));
        if (result == CUDA_SUCCESS)
            for (CUkernel kernel : kernels) Registry::get().remove_kernel(kernel);
        return result;
    });
}

CUPOLA_CUDART cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library,
                                               const char* name) {
    return entry([&](const Driver& d) {
        if (!library) return CUDA_ERROR_INVALID_HANDLE;
        if (!kernel || !name) return CUDA_ERROR_INVALID_VALUE;
        CUkernel found = nullptr;
        const CUresult result = d.LibraryGetKernel(&found, driver_library(library), name);
        if (result != CUDA_SUCCESS) return result;
        Registry::get().add_kernel(found);
        *kernel = reinterpret_cast<cudaKernel_t>(found);
        return CUDA_SUCCESS;
    });
}

CUPOLA_CUDART cudaError_t cudaLibraryGetKernelCount(unsigned* count, cudaLibrary_t library) {
    return entry([&](const Driver& d) {
        if (!library) return CUDA_ERROR_INVALID_HANDLE;
        return count ? d.LibraryGetKernelCount(count, driver_library(library))
                     : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned count,
                                                      cudaLibrary_t library) {
    return entry([&](const Driver& d) {
        if (!library) return CUDA_ERROR_INVALID_HANDLE;
        if (!kernels) return CUDA_ERROR_INVALID_VALUE;
        for (unsigned n = 0; n < count; ++n) kernels[n] = nullptr;
        auto* const found = reinterpret_cast<CUkernel*>(kernels);
        const CUresult result = d.LibraryEnumerateKernels(found, count, driver_library(library));
        if (result == CUDA_SUCCESS)
            for (unsigned n = 0; n < count; ++n)
                if (found[n]) Registry::get().add_kernel(found[n]);
        return result;
    });
}

CUPOLA_CUDART cudaError_t cudaLibraryGetGlobal(void** address, size_t* bytes, cudaLibrary_t library,
                                               const char* name) {
    return entry([&](const Driver& d) {
        if (!library) return CUDA_ERROR_INVALID_HANDLE;
        if (!name) return CUDA_ERROR_INVALID_VALUE;
        return d.LibraryGetGlobal(reinterpret_cast<CUdeviceptr*>(address), bytes,
                                  driver_library(library), name);
    });
}

CUPOLA_CUDART cudaError_t cudaLibraryGetManaged(void** address, size_t* bytes,
                                                cudaLibrary_t library, const char* name) {
    return entry([&](const Driver& d) {
        if (!library) return CUDA_ERROR_INVALID_HANDLE;
        if (!name) return CUDA_ERROR_INVALID_VALUE;
        return d.LibraryGetManaged(reinterpret_cast<CUdeviceptr*>(address), bytes,
                                   driver_library(library), name);
    });
}

CUPOLA_CUDART cudaError_t cudaLibraryGetUnifiedFunction(void** function, cudaLibrary_t library,
                                                        const char* name) {
    return entry([&](const Driver& d) {
        if (!library) return CUDA_ERROR_INVALID_HANDLE;
        if (!function || !name) return CUDA_ERROR_INVALID_VALUE;
        return d.LibraryGetUnifiedFunction(function, driver_library(library), name);
    });
}
