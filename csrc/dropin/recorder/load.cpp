// csrc/dropin/recorder/load.cpp - cu* entry points that load images and get kernels.
#include <fstream>
#include <iterator>
#include <string>

#include "dropin/recorder/functions.hpp"
#include "dropin/recorder/settings.hpp"

using namespace cupola::recorder;

namespace {

std::shared_ptr<Image> image_of_file(const char* path) {
    std::ifstream file(path, std::ios::binary);
    return std::make_shared<Image>(
        std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
}

// Exceptions, as of a full memory, leave the image's kernels unrecorded.
template <class F>
CUresult after(CUresult result, F note) {
    if (result != CUDA_SUCCESS || settings().spool.empty()) return result;
    try {
        note();
    } catch (const std::exception&) {
    }
    return result;
}

}  // namespace

CUPOLA_API CUresult cuModuleLoad(CUmodule* module, const char* path) {
    return after(CUPOLA_REAL(cuModuleLoad, cuModuleLoad)(module, path),
                 [&] { add_module(*module, image_of_file(path)); });
}

CUPOLA_API CUresult cuModuleLoadData(CUmodule* module, const void* image) {
    return after(CUPOLA_REAL(cuModuleLoadData, cuModuleLoadData)(module, image),
                 [&] { add_module(*module, std::make_shared<Image>(image)); });
}

CUPOLA_API CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count,
                                       CUjit_option* options, void** values) {
    return after(
        CUPOLA_REAL(cuModuleLoadDataEx, cuModuleLoadDataEx)(module, image, count, options, values),
        [&] { add_module(*module, std::make_shared<Image>(image)); });
}

CUPOLA_API CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
    return after(CUPOLA_REAL(cuModuleLoadFatBinary, cuModuleLoadFatBinary)(module, image),
                 [&] { add_module(*module, std::make_shared<Image>(image)); });
}

CUPOLA_API CUresult cuModuleUnload(CUmodule module) {
    return after(CUPOLA_REAL(cuModuleUnload, cuModuleUnload)(module), [&] { forget(module); });
}

CUPOLA_API CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option* options,
                                      void** values, unsigned count, CUlibraryOption* more,
                                      void** more_values, unsigned more_count) {
    return after(CUPOLA_REAL(cuLibraryLoadData, cuLibraryLoadData)(
                     library, image, options, values, count, more, more_values, more_count),
                 [&] { add_library(*library, std::make_shared<Image>(image)); });
}

CUPOLA_API CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path,
                                          CUjit_option* options, void** values, unsigned count,
                                          CUlibraryOption* more, void** more_values,
                                          unsigned more_count) {
    return after(CUPOLA_REAL(cuLibraryLoadFromFile, cuLibraryLoadFromFile)(
                     library, path, options, values, count, more, more_values, more_count),
                 [&] { add_library(*library, image_of_file(path)); });
}

CUPOLA_API CUresult cuLibraryUnload(CUlibrary library) {
    return after(CUPOLA_REAL(cuLibraryUnload, cuLibraryUnload)(library), [&] { forget(library); });
}

CUPOLA_API CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
    return after(CUPOLA_REAL(cuLibraryGetModule, cuLibraryGetModule)(module, library),
                 [&] { add_module_of(*module, library); });
}

CUPOLA_API CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
    return after(CUPOLA_REAL(cuModuleGetFunction, cuModuleGetFunction)(function, module, name),
                 [&] { add_function(*function, module, name); });
}

CUPOLA_API CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
    return after(CUPOLA_REAL(cuLibraryGetKernel, cuLibraryGetKernel)(kernel, library, name),
                 [&] { add_kernel(*kernel, library, name); });
}

CUPOLA_API CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
    return after(CUPOLA_REAL(cuKernelGetFunction, cuKernelGetFunction)(function, kernel),
                 [&] { add_function_of(*function, kernel); });
}

CUPOLA_API CUresult cuModuleEnumerateFunctions(CUfunction* found, unsigned count, CUmodule module) {
    return after(
        CUPOLA_REAL(cuModuleEnumerateFunctions, cuModuleEnumerateFunctions)(found, count, module),
        [&] {
            for (unsigned i = 0; i < count; ++i) {
                const char* name = nullptr;
                if (CUPOLA_REAL(cuFuncGetName, cuFuncGetName)(&name, found[i]) == CUDA_SUCCESS)
                    add_function(found[i], module, name);
            }
        });
}

CUPOLA_API CUresult cuLibraryEnumerateKernels(CUkernel* found, unsigned count, CUlibrary library) {
    return after(
        CUPOLA_REAL(cuLibraryEnumerateKernels, cuLibraryEnumerateKernels)(found, count, library),
        [&] {
            for (unsigned i = 0; i < count; ++i) {
                const char* name = nullptr;
                if (CUPOLA_REAL(cuKernelGetName, cuKernelGetName)(&name, found[i]) == CUDA_SUCCESS)
                    add_kernel(found[i], library, name);
            }
        });
}
