// csrc/runtime/abi/module.cpp - the functions of cupola/module.h.
#include "cupola/module.h"

#include "runtime/base/name_suggestions.hpp"
#include "runtime/context/device.hpp"
#include "runtime/driver/output.hpp"
#include "runtime/module/link.hpp"
#include "runtime/module/module.hpp"

using namespace cupola;

namespace {

// The module's variables, for an error's text; none where the image can't be read.
std::vector<std::string> listed_variables(Module& module) {
    try {
        return module.variables();
    } catch (const Error&) {
        return {};
    }
}

}  // namespace

int cupola_module_load(int device, const void* image, size_t size, cupola_module** out) {
    return guard([&] {
        check_not_null(out, "out");
        *out = wrap(make<Module>(context(device), image, size, Output::must_search()).detach());
    });
}

int cupola_module_load_silent(int device, const void* image, size_t size, cupola_module** out) {
    return guard([&] {
        check_not_null(out, "out");
        *out = wrap(make<Module>(context(device), image, size).detach());
    });
}

int cupola_module_device(const cupola_module* module) {
    return module ? unwrap(module)->context.ordinal : -1;
}

int cupola_module_kernel_count(cupola_module* module, size_t* count) {
    return guard([&] {
        *check_not_null(count, "count") = unwrap(check_not_null(module, "module"))->names().size();
    });
}

int cupola_module_kernel_name(cupola_module* module, size_t index, const char** name) {
    return guard([&] {
        const auto& names = unwrap(check_not_null(module, "module"))->names();
        if (index >= names.size()) fail(CUPOLA_ERROR_VALUE, "no kernel " + std::to_string(index));
        *check_not_null(name, "name") = names[index].c_str();
    });
}

int cupola_module_variable_count(cupola_module* module, size_t* count) {
    return guard([&] {
        *check_not_null(count, "count") =
            unwrap(check_not_null(module, "module"))->variables().size();
    });
}

int cupola_module_variable_name(cupola_module* module, size_t index, const char** name) {
    return guard([&] {
        const auto& names = unwrap(check_not_null(module, "module"))->variables();
        if (index >= names.size()) fail(CUPOLA_ERROR_VALUE, "no variable " + std::to_string(index));
        *check_not_null(name, "name") = names[index].c_str();
    });
}

int cupola_module_global(cupola_module* module, const char* name, uint64_t* address, size_t* size) {
    return guard([&] {
        Module& m = *unwrap(check_not_null(module, "module"));
        auto using_it = m.use();
        ContextScope current(m.context);
        CUdeviceptr pointer = 0;
        size_t bytes = 0;
        // For an empty name and some others, NVIDIA's driver answers CUDA_ERROR_INVALID_VALUE. All
        // other arguments are valid here, so this code also means "not found".
        CUresult code = *check_not_null(name, "name")
                            ? m.context.driver->cuModuleGetGlobal(&pointer, &bytes, m.handle, name)
                            : CUDA_ERROR_NOT_FOUND;
        if (code == CUDA_ERROR_NOT_FOUND || code == CUDA_ERROR_INVALID_VALUE) {
            using_it.unlock();  // the list of variables takes the lock
            fail(CUPOLA_ERROR_NOT_FOUND, variable_not_found(name, listed_variables(m)));
        }
        check(m.context.driver, code, "cuModuleGetGlobal");
        if (address) *address = pointer;
        if (size) *size = bytes;
    });
}

int cupola_module_describe(cupola_module* module, const char* ptx, size_t size) {
    return guard([&] {
        unwrap(check_not_null(module, "module"))->describe({check_not_null(ptx, "ptx"), size});
    });
}

int cupola_module_unload(cupola_module* module) {
    return guard([&] { unwrap(check_not_null(module, "module"))->unload(); });
}

int cupola_module_loaded(const cupola_module* module) {
    return module && unwrap(module)->handle ? 1 : 0;
}

void cupola_module_retain(cupola_module* module) {
    if (module) unwrap(module)->retain();
}
void cupola_module_release(cupola_module* module) {
    if (module) unwrap(module)->release();
}

int cupola_link(int device, const cupola_link_input* inputs, size_t count,
                void (*take)(void* owner, const void* image, size_t size), void* owner) {
    return guard([&] {
        if (count) check_not_null(inputs, "inputs");
        check_not_null(reinterpret_cast<void*>(take), "take");
        link(context(device), inputs, count,
             [&](const void* image, size_t size) { take(owner, image, size); });
    });
}
