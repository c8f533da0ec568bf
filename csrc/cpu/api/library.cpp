// csrc/cpu/api/library.cpp - cu* entry points: libraries and their kernels.
#include "cpu/device/module/library.hpp"

#include "cpu/device/base/file.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"

using namespace cupola::cpu;

namespace {

std::shared_ptr<Library> library_of(CUlibrary handle) {
    return Driver::get().libraries.get(handle, CUDA_ERROR_INVALID_HANDLE);
}

std::shared_ptr<LibraryKernel> kernel_of(CUkernel handle) {
    return Driver::get().kernels.get(handle, CUDA_ERROR_INVALID_HANDLE);
}

// Both library options reduce copying; they have no visible effect.
void check_options(const CUlibraryOption* options, void** values, unsigned count) {
    require(count == 0 || (options && values));
    for (unsigned i = 0; i < count; ++i)
        require(options[i] >= 0 && options[i] < CU_LIBRARY_NUM_OPTIONS);
}

Device& device_of(CUdevice ordinal) { return Driver::get().device(ordinal); }

}  // namespace

CUPOLA_API CUresult cuLibraryLoadData(CUlibrary* out, const void* code, CUjit_option* jit,
                                      void** jit_values, unsigned int jit_count,
                                      CUlibraryOption* options, void** values, unsigned int count) {
    return entry([&] {
        require(out && code);
        check_options(options, values, count);
        JitOptions jit_options(jit_count, jit, jit_values);
        *out = Library::make(Driver::get(), image_at(code), jit_options)->handle();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuLibraryLoadFromFile(CUlibrary* out, const char* path, CUjit_option* jit,
                                          void** jit_values, unsigned int jit_count,
                                          CUlibraryOption* options, void** values,
                                          unsigned int count) {
    return entry([&] {
        require(out && path);
        check_options(options, values, count);
        JitOptions jit_options(jit_count, jit, jit_values);
        *out = Library::make(Driver::get(), read_file(path), jit_options)->handle();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuLibraryUnload(CUlibrary handle) {
    return entry([&] {
        const auto library = Driver::get().libraries.remove(handle);
        require(library != nullptr, CUDA_ERROR_INVALID_HANDLE);
        library->close();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuLibraryGetKernel(CUkernel* out, CUlibrary library, const char* name) {
    return entry([&] {
        require(out && name);
        const auto owner = library_of(library);
        const auto kernel = owner->kernel(name);
        // Loads the kernel now, so that an error in its code is reported by this call.
        kernel->kernel(*owner);
        *out = kernel->handle();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuLibraryGetKernelCount(unsigned int* count, CUlibrary library) {
    return entry([&] {
        require(count);
        *count = static_cast<unsigned>(library_of(library)->kernels().size());
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int room,
                                              CUlibrary handle) {
    return entry([&] {
        require(kernels);
        const auto library = library_of(handle);
        const auto& all = library->kernels();
        for (unsigned i = 0; i < room && i < all.size(); ++i) kernels[i] = all[i]->handle();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuLibraryGetModule(CUmodule* out, CUlibrary library) {
    return entry([&] {
        require(out);
        *out = library_of(library)->module(Context::usable())->handle();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library,
                                       const char* name) {
    return entry([&] {
        require((address || bytes) && name);
        const auto module = library_of(library)->module(Context::usable());
        const Variable* variable = module->image().variable(name);
        require(variable != nullptr, CUDA_ERROR_NOT_FOUND);
        if (address) *address = variable->address;
        if (bytes) *bytes = variable->size;
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuLibraryGetManaged(CUdeviceptr* address, size_t* bytes, CUlibrary library,
                                        const char* name) {
    return entry([&] {
        require((address || bytes) && name);
        const auto module = library_of(library)->module(Context::usable());
        const Variable* variable = module->image().variable(name);
        require(variable && variable->managed, CUDA_ERROR_NOT_FOUND);
        if (address) *address = variable->address;
        if (bytes) *bytes = variable->size;
        return CUDA_SUCCESS;
    });
}

// A function of a PTX module has no address that is equal on every device.
CUPOLA_API CUresult cuLibraryGetUnifiedFunction(void** out, CUlibrary library, const char* name) {
    return entry([&] {
        require(out && name);
        library_of(library);
        return CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_API CUresult cuKernelGetFunction(CUfunction* out, CUkernel kernel) {
    return entry([&] {
        require(out);
        *out = kernel_of(kernel)->function(Context::usable())->handle();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuKernelGetLibrary(CUlibrary* out, CUkernel kernel) {
    return entry([&] {
        require(out);
        *out = kernel_of(kernel)->library()->handle();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuKernelGetName(const char** name, CUkernel kernel) {
    return entry([&] {
        require(name && kernel);
        *name = kernel_of(kernel)->name().c_str();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute,
                                         CUkernel kernel, CUdevice device) {
    return entry([&] {
        require(value);
        *value = kernel_of(kernel)->get(attribute, device_of(device));
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                                         CUdevice device) {
    return entry([&] {
        kernel_of(kernel)->set(attribute, value, device_of(device));
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device) {
    return entry([&] {
        kernel_of(kernel);
        device_of(device);
        require(config >= CU_FUNC_CACHE_PREFER_NONE && config <= CU_FUNC_CACHE_PREFER_EQUAL);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset,
                                         size_t* size) {
    return entry([&] {
        Context::usable();
        require(kernel);
        const auto which = kernel_of(kernel);
        return parameter_info(which->kernel(*which->library()), index, offset, size);
    });
}
