// csrc/cpu/api/module.cpp - cu* entry points: modules.
#include "cpu/device/module/module.hpp"

#include "cpu/device/base/file.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/launch/capture.hpp"

using namespace cupola::cpu;

namespace {

CUresult load(CUmodule* out, std::string_view bytes, JitOptions& options) {
    const auto& context = Context::usable();
    auto image = build_image(bytes, context->device(), options);
    *out = Module::make(context, std::move(image))->handle();
    return CUDA_SUCCESS;
}

std::shared_ptr<Module> module_of(CUmodule handle) {
    return Driver::get().modules.get(handle, CUDA_ERROR_INVALID_HANDLE);
}

}  // namespace

CUPOLA_API CUresult cuModuleLoadDataEx(CUmodule* out, const void* image, unsigned int count,
                                       CUjit_option* options, void** values) {
    return entry([&] {
        require(out && image);
        JitOptions jit(count, options, values);
        return load(out, image_at(image), jit);
    });
}

CUPOLA_API CUresult cuModuleLoadData(CUmodule* out, const void* image) {
    return cuModuleLoadDataEx(out, image, 0, nullptr, nullptr);
}

CUPOLA_API CUresult cuModuleLoadFatBinary(CUmodule* out, const void* image) {
    return cuModuleLoadDataEx(out, image, 0, nullptr, nullptr);
}

CUPOLA_API CUresult cuModuleLoad(CUmodule* out, const char* path) {
    return entry([&] {
        require(out && path);
        Context::usable();
        const std::string bytes = read_file(path);
        JitOptions none(0, nullptr, nullptr);
        return load(out, bytes, none);
    });
}

CUPOLA_API CUresult cuModuleUnload(CUmodule handle) {
    return entry([&] {
        Context::current()->check();
        const auto module = module_of(handle);
        require(!module->of_library(), CUDA_ERROR_NOT_PERMITTED);
        Capture::forbid(Driver::get());
        module->close();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuModuleGetFunction(CUfunction* out, CUmodule handle, const char* name) {
    return entry([&] {
        require(out && name && *name);
        *out = module_of(handle)->function(name)->handle();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule handle,
                                         const char* name) {
    return entry([&] {
        require((address || bytes) && name);
        Context::usable();
        const auto module = module_of(handle);
        const Variable* variable = module->image().variable(name);
        require(variable != nullptr, CUDA_ERROR_NOT_FOUND);
        require(variable->role == Variable::Role::data);
        if (address) *address = variable->address;
        if (bytes) *bytes = variable->size;
        return CUDA_SUCCESS;
    });
}
CUPOLA_ALIAS(cuModuleGetGlobal, cuModuleGetGlobal_v2);

CUPOLA_API CUresult cuModuleGetFunctionCount(unsigned int* count, CUmodule handle) {
    return entry([&] {
        require(count);
        *count = static_cast<unsigned>(module_of(handle)->function_count());
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned int room,
                                               CUmodule handle) {
    return entry([&] {
        require(functions || room == 0);
        const auto module = module_of(handle);
        const auto all = module->functions();
        for (unsigned i = 0; i < room && i < all.size(); ++i) functions[i] = all[i]->handle();
        return CUDA_SUCCESS;
    });
}

// A kernel of a module with much PTX is parsed at its first use.
CUPOLA_API CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
    return entry([&] {
        require(mode);
        *mode = loads_eagerly() ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
        return CUDA_SUCCESS;
    });
}
