// csrc/runtime/launch.cpp - the launch path: checks that cost nothing, then one driver call.
#include "cupola/launch.h"

#include "runtime/at_once.hpp"
#include "runtime/profile.hpp"
#include "runtime/stream.hpp"

namespace cupola {
namespace {

void check_axes(const std::string& kernel, const char* what, const std::uint32_t (&value)[3],
                const unsigned (&most)[3]) {
    for (int axis = 0; axis < 3; ++axis) {
        if (value[axis] - 1 < most[axis]) continue;  // 1 ... most, in one comparison
        fail(CUPOLA_ERROR_VALUE,
             kernel + ": " + what + " " + triple(value) +
                 (value[axis] == 0 ? " has a zero dimension; each must be at least 1"
                                   : " is too large; this device takes at most " +
                                         triple({most[0], most[1], most[2]})));
    }
}

// Room for the addresses of so many arguments, until this thread's next launch.
[[gnu::cold]] void** many_pointers(std::size_t count) {
    thread_local std::vector<void*> pointers;
    if (pointers.size() < count) pointers.resize(count);
    return pointers.data();
}

}  // namespace

void Kernel::check_launch(const cupola_dimensions& d, const cupola_attributes* attributes) const {
    check_dimensions(d);
    if (attributes) check_attributes(d, *attributes);
}

void Kernel::check_dimensions(const cupola_dimensions& d) const {
    require_known();
    check_axes(title, "grid", d.grid, context.max_grid);
    check_axes(title, "block", d.block, context.max_block);
    const std::uint64_t threads = std::uint64_t(d.block[0]) * d.block[1] * d.block[2];
    if (threads > max_threads_)
        fail(CUPOLA_ERROR_VALUE,
             title + ": block " + triple(d.block) + " has " + std::to_string(threads) +
                 " threads; " +
                 (max_threads_ < context.max_threads
                      ? "this kernel (by its launch bounds or its registers) can have "
                      : "this device takes at most ") +
                 std::to_string(max_threads_));
    check_shared(d.shared);
}

void Kernel::check_shared(std::uint64_t dynamic) const {
    if (__builtin_expect(dynamic + static_shared_ > most_shared_, 0))
        fail(CUPOLA_ERROR_VALUE,
             title + ": " + std::to_string(dynamic) + " bytes of dynamic shared memory and " +
                 std::to_string(static_shared_) + " of its own; a block of this device can have " +
                 std::to_string(most_shared_) + " in all");
}

void Kernel::raise_shared(std::uint64_t dynamic) const {
    const Current current(context);
    // Two threads may both set it; the larger value wins in the end, since each looks again.
    unsigned allowed = allowed_shared_.load(std::memory_order_relaxed);
    while (dynamic > allowed) {
        CUPOLA_CALL(cuFuncSetAttribute, handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                    static_cast<int>(most_shared_ - static_shared_));
        allowed_shared_.compare_exchange_strong(allowed, most_shared_ - static_shared_);
        allowed = allowed_shared_.load();
    }
}

void Kernel::fail_launch(CUresult code, const cupola_dimensions& d) const {
    std::string what = "kernel " + title + ", grid " + triple(d.grid) + ", block " +
                       triple(d.block) + ", shared " + std::to_string(d.shared);
    int blocks = 0;
    if (code == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE &&
        driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &blocks, handle, static_cast<int>(d.block[0] * d.block[1] * d.block[2]), d.shared) ==
            CUDA_SUCCESS)
        what +=
            "\n  of such blocks " +
            std::to_string(blocks * context.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)) +
            " are resident at a time on this device, which is the most a cooperative grid "
            "can have";
    fail_driver(code, "cuLaunchKernel", what);
}

void Kernel::fail_stream(const Stream& stream) const {
    fail(CUPOLA_ERROR_VALUE, title + ": the kernel is loaded on device " +
                                 std::to_string(context.ordinal) + ", the stream is of device " +
                                 std::to_string(stream.context.ordinal));
}

[[gnu::always_inline]] inline CUresult Kernel::queue(const Driver& driver,
                                                     const cupola_dimensions& d,
                                                     const cupola_attributes* attributes,
                                                     void** pointers, CUstream stream) const {
    if (__builtin_expect(attributes != nullptr, 0)) return send(d, *attributes, pointers, stream);
    return driver.cuLaunchKernel(handle, d.grid[0], d.grid[1], d.grid[2], d.block[0], d.block[1],
                                 d.block[2], d.shared, stream, pointers, nullptr);
}

void Kernel::launch_in_context(const cupola_dimensions& d, const cupola_attributes* attributes,
                               void** pointers, Stream& stream) const {
    const Current current(context);
    const CUresult code = queue(driver(), d, attributes, pointers, stream.handle);
    if (code != CUDA_SUCCESS) fail_launch(code, d);
}

void Kernel::launch_again(CUresult code, const cupola_dimensions& d,
                          const cupola_attributes* attributes, void** pointers,
                          Stream& stream) const {
    if (code == CUDA_ERROR_INVALID_CONTEXT || code == CUDA_ERROR_INVALID_HANDLE)
        return launch_in_context(d, attributes, pointers, stream);
    const Current current(context);
    fail_launch(code, d);
}

void Kernel::tell(const cupola_dimensions& d) const {
    log("launch " + title + ", grid " + triple(d.grid) + ", block " + triple(d.block));
}

void Kernel::launch_instrumented(const cupola_dimensions& d, const cupola_attributes* attributes,
                                 void** pointers, Stream& stream) {
    const Driver& driver = cupola::driver();
    if (driver.debug()) tell(d);
    {
        const Span span(CUPOLA_PROFILE_LAUNCH, lasting_title_, &stream, 0, &d);
        launch_in_context(d, attributes, pointers, stream);
    }
    launched_.store(true, std::memory_order_relaxed);
    stream.flight.add(lasting_title_, d, [&] { return null_arguments(pointers); });
    if (driver.synchronous && !stream.flight.capturing()) stream.synchronize();
}

// After the driver's own code this one is no longer in the caches: what is seldom needed is kept
// out of it, what is always needed is kept beside each other.
[[gnu::always_inline]] inline void Kernel::launch_pointed(const cupola_dimensions& d,
                                                          const cupola_attributes* attributes,
                                                          void** pointers, Stream& stream) {
    module->require_loaded();  // since it was checked, it may have been unloaded
    if (__builtin_expect(&stream.context != &context, 0)) fail_stream(stream);
    const Driver& driver = cupola::driver();
    allow_shared(d.shared);
    if (__builtin_expect(driver.instrumented.load(std::memory_order_relaxed) != 0, 0))
        return launch_instrumented(d, attributes, pointers, stream);
    // Function and stream tell the context, but for a default stream, which is the current one's:
    // where that is another's, the driver says so.
    const CUresult code = queue(driver, d, attributes, pointers, stream.handle);
    if (__builtin_expect(code != CUDA_SUCCESS, 0))
        launch_again(code, d, attributes, pointers, stream);
    launched_.store(true, std::memory_order_relaxed);
    stream.flight.add(lasting_title_, d, [&] { return null_arguments(pointers); });
}

[[gnu::always_inline]] inline void Kernel::launch_checked(const cupola_dimensions& d,
                                                          const cupola_attributes* attributes,
                                                          const void* buffer, Stream& stream) {
    constexpr std::size_t usual = 32;
    void* few[usual];
    const std::size_t count = offsets_.size();
    void** pointers = __builtin_expect(count <= usual, 1) ? few : many_pointers(count);
    point(buffer, pointers);
    launch_pointed(d, attributes, pointers, stream);
}

void Kernel::launch(const cupola_dimensions& d, const cupola_attributes* attributes,
                    const void* buffer, Stream& stream) {
    launch_checked(d, attributes, buffer, stream);
}

}  // namespace cupola

using namespace cupola;

int cupola_launch(cupola_kernel* kernel, const cupola_dimensions* dimensions,
                  const cupola_attributes* attributes, const void* buffer, cupola_stream* stream) {
    return guard([&] {
        Kernel& k = *unwrap(required(kernel, "kernel"));
        required(dimensions, "dimensions");
        if (k.parameter_bytes) required(buffer, "buffer");
        driver();  // a forked child must not get further
        k.check_launch(*dimensions, attributes);
        k.launch(*dimensions, attributes, buffer, stream_or_current(unwrap(stream), k.context));
    });
}

[[gnu::hot]] int cupola_launch_at_once(cupola_kernel* kernel, const cupola_dimensions* dimensions,
                                       const cupola_attributes* attributes, const void* buffer,
                                       cupola_stream* stream, cupola_stream** used) {
    bool waits = false;
    const int status = guard([&] {
        Kernel& k = *unwrap(required(kernel, "kernel"));
        required(dimensions, "dimensions");
        if (k.parameter_bytes) required(buffer, "buffer");
        driver();  // a forked child must not get further
        Stream& s = stream_or_current(unwrap(stream), k.context);
        if (used) *used = wrap(&s);
        waits = launch_may_wait(k, s);
        if (!waits) k.launch_checked(*dimensions, attributes, buffer, s);
    });
    return waits ? CUPOLA_WOULD_WAIT : status;
}

int cupola_launch_point(const cupola_kernel* kernel, const void* buffer, void** pointers) {
    return guard([&] {
        const Kernel& k = *unwrap(required(kernel, "kernel"));
        k.require_known();
        if (k.parameters.empty()) return;
        k.point(required(buffer, "buffer"), required(pointers, "pointers"));
    });
}

[[gnu::hot]] int cupola_launch_pointed(cupola_kernel* kernel, const cupola_dimensions* dimensions,
                                       const cupola_attributes* attributes, void** pointers,
                                       cupola_stream* stream) {
    bool launched = false;
    const int status = guard([&] {
        Kernel& k = *unwrap(required(kernel, "kernel"));
        required(dimensions, "dimensions");
        if (k.parameter_bytes) required(pointers, "pointers");
        driver();  // a forked child must not get further
        k.launch_pointed(*dimensions, attributes, pointers,
                         stream_or_current(unwrap(stream), k.context));
        launched = true;
    });
    return __builtin_expect(launched, 1) ? CUPOLA_SUCCESS : status;
}

int cupola_launch_check(const cupola_kernel* kernel, const cupola_dimensions* dimensions,
                        const cupola_attributes* attributes) {
    return guard([&] {
        unwrap(required(kernel, "kernel"))
            ->check_launch(*required(dimensions, "dimensions"), attributes);
    });
}

void cupola_launch_origin(const char* line) {
    guard([&] { Flight::set_origin(line); });
}
