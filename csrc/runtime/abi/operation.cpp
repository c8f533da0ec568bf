// csrc/runtime/abi/operation.cpp - the functions of cupola/operation.h.
#include "cupola/operation.h"

#include "runtime/context/device.hpp"
#include "runtime/operation/call_plan.hpp"
#include "runtime/operation/operation.hpp"
#include "runtime/operation/registry.hpp"
#include "runtime/operation/xla_ffi.hpp"

using namespace cupola;

namespace {

void check_size(const cupola_op_call* call) {
    check_not_null(call, "call");
    if (__builtin_expect(call->size < sizeof *call, 0))
        fail(CUPOLA_ERROR_VALUE, "cupola_op_call.size is " + std::to_string(call->size) +
                                     ", expected " + std::to_string(sizeof *call) +
                                     ": set it to sizeof(cupola_op_call)");
}

}  // namespace

int cupola_op_version(void) { return CUPOLA_OP_VERSION; }

int cupola_op_create(const void* declaration, size_t size, cupola_op** out) {
    return guard([&] {
        check_not_null(out, "out");
        check_not_null(declaration, "declaration");
        const std::string_view bytes(static_cast<const char*>(declaration), size);
        *out = wrap(make<Operation>(bytes).detach());
    });
}

void cupola_op_retain(cupola_op* op) {
    if (op) unwrap(op)->retain();
}
void cupola_op_release(cupola_op* op) {
    if (op) unwrap(op)->release();
}
const char* cupola_op_name(const cupola_op* op) {
    return op ? unwrap(op)->declaration().name.c_str() : "";
}

size_t cupola_op_kernel_count(const cupola_op* op) {
    return op ? unwrap(op)->declaration().variants.size() : 0;
}
const char* cupola_op_kernel_types(const cupola_op* op, size_t index) {
    return index < cupola_op_kernel_count(op) ? unwrap(op)->types(index).c_str() : nullptr;
}

const char* cupola_op_kernel_name(const cupola_op* op, size_t index) {
    return index < cupola_op_kernel_count(op)
               ? unwrap(op)->declaration().variants[index].kernel.c_str()
               : nullptr;
}

int cupola_op_bind(cupola_op* op, size_t index, cupola_kernel* kernel) {
    return guard([&] {
        unwrap(check_not_null(op, "op"))
            ->bind(index, Ref<Kernel>::share(unwrap(check_not_null(kernel, "kernel"))));
    });
}
int cupola_op_bound(const cupola_op* op, size_t index, int device) {
    return op && unwrap(op)->bound(index, device);
}

int cupola_op_host_device(int* device) {
    return guard([&] { *check_not_null(device, "device") = host_device(); });
}

int cupola_op_launch(cupola_op* op, const cupola_op_call* call) {
    return guard([&] {
        Operation& operation = *unwrap(check_not_null(op, "op"));
        check_size(call);
        require_drivers();  // a forked child must not get further
        operation.call(*call);
    });
}

int cupola_op_plan_create(cupola_op* op, const cupola_op_call* call, cupola_op_plan** out) {
    return guard([&] {
        auto operation = Ref<Operation>::share(unwrap(check_not_null(op, "op")));
        check_size(call);
        check_not_null(out, "out");
        require_drivers();
        *out = wrap(CallPlan::of(std::move(operation), *call).detach());
    });
}

void cupola_op_plan_release(cupola_op_plan* plan) {
    if (plan) unwrap(plan)->release();
}

[[gnu::hot]] int cupola_op_plan_launch(cupola_op_plan* plan, const cupola_op_call* call,
                                       size_t known, cupola_stream** used) {
    bool launched = false;
    const int status = guard([&] {
        const CallPlan& planned = *unwrap(check_not_null(plan, "plan"));
        check_size(call);
        require_drivers();
        launched = planned.try_launch(*call, known, used);
    });
    return status == CUPOLA_SUCCESS && !launched ? CUPOLA_WOULD_WAIT : status;
}

int cupola_op_register(cupola_op* op, const char* name) {
    return guard([&] {
        register_operation(check_not_null(name, "name"),
                           Ref<Operation>::share(unwrap(check_not_null(op, "op"))));
    });
}

void* cupola_op_xla_host(void* call_frame) { return call_by_xla(call_frame, XlaMemory::host); }
void* cupola_op_xla_cuda(void* call_frame) { return call_by_xla(call_frame, XlaMemory::cuda); }
void* cupola_op_xla_cuda_operands(void* call_frame) {
    return call_by_xla(call_frame, XlaMemory::cuda_operands);
}
