// csrc/runtime/abi/launch.cpp - the functions of cupola/launch.h.
#include "cupola/launch.h"

#include "runtime/launch/argument.hpp"
#include "runtime/launch/launch.hpp"
#include "runtime/launch/may_wait.hpp"
#include "runtime/launch/observer.hpp"

using namespace cupola;

int cupola_argument_int(const cupola_kernel* kernel, void* buffer, size_t index, int64_t value) {
    return guard([&] {
        put_integer(*unwrap(check_not_null(kernel, "kernel")), index, buffer,
                    static_cast<std::uint64_t>(value), value < 0);
    });
}

int cupola_argument_uint(const cupola_kernel* kernel, void* buffer, size_t index, uint64_t value) {
    return guard([&] {
        put_integer(*unwrap(check_not_null(kernel, "kernel")), index, buffer, value, false);
    });
}

int cupola_argument_float(const cupola_kernel* kernel, void* buffer, size_t index, double value) {
    return guard(
        [&] { put_float(*unwrap(check_not_null(kernel, "kernel")), index, buffer, value); });
}

int cupola_argument_pointer(const cupola_kernel* kernel, void* buffer, size_t index,
                            uint64_t address) {
    return guard(
        [&] { put_pointer(*unwrap(check_not_null(kernel, "kernel")), index, buffer, address); });
}

int cupola_argument_bytes(const cupola_kernel* kernel, void* buffer, size_t index,
                          const void* bytes, size_t size) {
    return guard(
        [&] { put_bytes(*unwrap(check_not_null(kernel, "kernel")), index, buffer, bytes, size); });
}

int cupola_argument_count(const cupola_kernel* kernel, size_t count) {
    return guard([&] { require_count(*unwrap(check_not_null(kernel, "kernel")), count); });
}

int cupola_argument_refuse(const cupola_kernel* kernel, size_t index, int status, const char* got) {
    return guard([&] {
        const Kernel& k = *unwrap(check_not_null(kernel, "kernel"));
        parameter_of(k, index);
        fail_argument(k, index,
                      status == CUPOLA_ERROR_VALUE ? CUPOLA_ERROR_VALUE : CUPOLA_ERROR_TYPE,
                      check_not_null(got, "got"));
    });
}

int cupola_launch(cupola_kernel* kernel, const cupola_dimensions* dimensions,
                  const cupola_attributes* attributes, const void* buffer, cupola_stream* stream) {
    return guard([&] {
        Kernel& k = *unwrap(check_not_null(kernel, "kernel"));
        check_not_null(dimensions, "dimensions");
        if (k.parameter_bytes) check_not_null(buffer, "buffer");
        k.context.driver.get();  // a forked child must not get further
        k.check_launch(*dimensions, attributes);
        k.launch(*dimensions, attributes, buffer, stream_or_current(unwrap(stream), k.context));
    });
}

[[gnu::hot]] int cupola_launch_at_once(cupola_kernel* kernel, const cupola_dimensions* dimensions,
                                       const cupola_attributes* attributes, const void* buffer,
                                       cupola_stream* stream, cupola_stream** used) {
    bool waits = false;
    const int status = guard([&] {
        Kernel& k = *unwrap(check_not_null(kernel, "kernel"));
        check_not_null(dimensions, "dimensions");
        if (k.parameter_bytes) check_not_null(buffer, "buffer");
        k.context.driver.get();  // a forked child must not get further
        Stream& s = stream_or_current(unwrap(stream), k.context);
        if (used) *used = wrap(&s);
        waits = launch_may_wait(k, s);
        if (!waits) k.launch(*dimensions, attributes, buffer, s);
    });
    return waits ? CUPOLA_WOULD_WAIT : status;
}

int cupola_launch_point(const cupola_kernel* kernel, const void* buffer, void** pointers) {
    return guard([&] {
        const Kernel& k = *unwrap(check_not_null(kernel, "kernel"));
        k.require_known();
        if (k.parameters().empty()) return;
        k.argument_pointers(check_not_null(buffer, "buffer"), check_not_null(pointers, "pointers"));
    });
}

[[gnu::hot]] int cupola_launch_pointed(cupola_kernel* kernel, const cupola_dimensions* dimensions,
                                       const cupola_attributes* attributes, void** pointers,
                                       cupola_stream* stream) {
    bool launched = false;
    const int status = guard([&] {
        Kernel& k = *unwrap(check_not_null(kernel, "kernel"));
        check_not_null(dimensions, "dimensions");
        if (k.parameter_bytes) check_not_null(pointers, "pointers");
        k.context.driver.get();  // a forked child must not get further
        k.launch_with_pointers(*dimensions, attributes, pointers,
                               stream_or_current(unwrap(stream), k.context));
        launched = true;
    });
    return __builtin_expect(launched, 1) ? CUPOLA_SUCCESS : status;
}

int cupola_launch_check(const cupola_kernel* kernel, const cupola_dimensions* dimensions,
                        const cupola_attributes* attributes) {
    return guard([&] {
        unwrap(check_not_null(kernel, "kernel"))
            ->check_launch(*check_not_null(dimensions, "dimensions"), attributes);
    });
}

void cupola_launch_origin(const char* line) {
    guard([&] { Flight::set_origin(line); });
}

void cupola_launch_observe(cupola_launch_observer observer) {
    guard([&] { set_launch_observer(observer); });
}
