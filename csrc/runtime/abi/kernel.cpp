// csrc/runtime/abi/kernel.cpp - the functions of cupola/kernel.h.
#include "cupola/kernel.h"

#include "runtime/module/kernel.hpp"

using namespace cupola;

int cupola_module_kernel(cupola_module* module, const char* name, cupola_kernel** out) {
    return guard([&] {
        check_not_null(out, "out");
        auto shared = Ref<Module>::share(unwrap(check_not_null(module, "module")));
        const std::string wanted = check_not_null(name, "name");
        // Try the exact name first: a driver that can't list an image's kernels still finds them.
        if (CUfunction function = shared->function(wanted))
            *out = wrap(make<Kernel>(shared, wanted, function).detach());
        else
            *out = wrap(make<Kernel>(shared, shared->find(wanted)).detach());
    });
}

const char* cupola_kernel_name(const cupola_kernel* kernel) {
    return kernel ? unwrap(kernel)->name.c_str() : "";
}
const char* cupola_kernel_demangled(const cupola_kernel* kernel) {
    return kernel ? unwrap(kernel)->demangled.c_str() : "";
}
const char* cupola_kernel_title(const cupola_kernel* kernel) {
    return kernel ? unwrap(kernel)->title.c_str() : "";
}
int cupola_kernel_device(const cupola_kernel* kernel) {
    return kernel ? unwrap(kernel)->context.ordinal : -1;
}
cupola_module* cupola_kernel_module(const cupola_kernel* kernel) {
    return kernel ? wrap(unwrap(kernel)->module.get()) : nullptr;
}
void* cupola_kernel_handle(const cupola_kernel* kernel) {
    return kernel ? unwrap(kernel)->handle : nullptr;
}
size_t cupola_kernel_parameter_count(const cupola_kernel* kernel) {
    return kernel ? unwrap(kernel)->parameters().size() : 0;
}
const cupola_parameter* cupola_kernel_parameters(const cupola_kernel* kernel) {
    return kernel ? unwrap(kernel)->published() : nullptr;
}
size_t cupola_kernel_parameter_bytes(const cupola_kernel* kernel) {
    return kernel ? unwrap(kernel)->parameter_bytes : 0;
}

int cupola_kernel_declare(cupola_kernel* kernel, const cupola_parameter* parameters, size_t count) {
    return guard([&] {
        if (count) check_not_null(parameters, "parameters");
        unwrap(check_not_null(kernel, "kernel"))->declare(parameters, count);
    });
}

int cupola_kernel_declare_text(cupola_kernel* kernel, const char* parameters) {
    return guard([&] {
        unwrap(check_not_null(kernel, "kernel"))->declare(check_not_null(parameters, "parameters"));
    });
}

int cupola_kernel_describe(cupola_kernel* kernel, const char* type, const char* const* names,
                           size_t count) {
    return guard([&] { unwrap(check_not_null(kernel, "kernel"))->describe(type, names, count); });
}

int cupola_kernel_known(const cupola_kernel* kernel) {
    return kernel ? unwrap(kernel)->known_by() : CUPOLA_KNOWN_SIZES;
}

int cupola_kernel_attribute(const cupola_kernel* kernel, int attribute, int* value) {
    return guard([&] {
        const Kernel& k = *unwrap(check_not_null(kernel, "kernel"));
        ContextScope current(k.context);
        *check_not_null(value, "value") = k.attribute(static_cast<CUfunction_attribute>(attribute));
    });
}

int cupola_kernel_occupancy(const cupola_kernel* kernel, int block, size_t shared, int* blocks) {
    return guard([&] {
        const Kernel& k = *unwrap(check_not_null(kernel, "kernel"));
        const auto using_it = k.module->use();
        ContextScope current(k.context);
        k.check_shared(shared);
        // As a launch does: without the attribute the driver reports 0 blocks.
        k.allow_shared(shared);
        CUPOLA_CALL(k.context.driver, cuOccupancyMaxActiveBlocksPerMultiprocessor,
                    check_not_null(blocks, "blocks"), k.handle, block, shared);
    });
}

int cupola_kernel_suggest(const cupola_kernel* kernel, size_t shared, int* block, int* grid) {
    return guard([&] {
        const Kernel& k = *unwrap(check_not_null(kernel, "kernel"));
        const auto using_it = k.module->use();
        ContextScope current(k.context);
        k.check_shared(shared);
        k.allow_shared(shared);
        CUPOLA_CALL(k.context.driver, cuOccupancyMaxPotentialBlockSize,
                    check_not_null(grid, "grid"), check_not_null(block, "block"), k.handle, nullptr,
                    shared, 0);
    });
}

void cupola_kernel_retain(cupola_kernel* kernel) {
    if (kernel) unwrap(kernel)->retain();
}
void cupola_kernel_release(cupola_kernel* kernel) {
    if (kernel) unwrap(kernel)->release();
}
