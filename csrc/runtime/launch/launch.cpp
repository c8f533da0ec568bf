// csrc/runtime/launch/launch.cpp - checks launches, and holds the rare parts of the launch path.
#include "runtime/launch/launch.hpp"

#include <cstring>

#include "runtime/context/capture.hpp"
#include "runtime/context/work_observer.hpp"
#include "runtime/driver/output.hpp"
#include "runtime/launch/argument.hpp"
#include "runtime/launch/observer.hpp"
#include "runtime/profile/profile.hpp"

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

}  // namespace

void** many_pointers(std::size_t count) {
    thread_local std::vector<void*> pointers;
    if (pointers.size() < count) pointers.resize(count);
    return pointers.data();
}

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
    const ContextScope current(context);
    // Two threads may both set it. Each checks again afterwards, so the larger value remains.
    unsigned allowed = allowed_shared_.load(std::memory_order_relaxed);
    while (dynamic > allowed) {
        CUPOLA_CALL(context.driver, cuFuncSetAttribute, handle,
                    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
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
        context.driver->cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &blocks, handle, static_cast<int>(d.block[0] * d.block[1] * d.block[2]), d.shared) ==
            CUDA_SUCCESS)
        what +=
            "\n  of such blocks " +
            std::to_string(blocks * context.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)) +
            " are resident at a time on this device, which is the most a cooperative grid "
            "can have";
    fail_driver(context.driver, code, "cuLaunchKernel", what);
}

void Kernel::fail_stream(const Stream& stream) const {
    fail(CUPOLA_ERROR_VALUE, title + ": the kernel is loaded on " + device_text(context) +
                                 ", the stream is of " + device_text(stream.context));
}

void Kernel::launch_in_context(const cupola_dimensions& d, const cupola_attributes* attributes,
                               void** pointers, Stream& stream) const {
    const ContextScope current(context);
    const CUresult code = queue(context.driver, d, attributes, pointers, stream.handle);
    if (code != CUDA_SUCCESS) fail_launch(code, d);
}

void Kernel::launch_again(CUresult code, const cupola_dimensions& d,
                          const cupola_attributes* attributes, void** pointers,
                          Stream& stream) const {
    if (code == CUDA_ERROR_INVALID_CONTEXT || code == CUDA_ERROR_INVALID_HANDLE)
        return launch_in_context(d, attributes, pointers, stream);
    const ContextScope current(context);
    fail_launch(code, d);
}

void Kernel::log_launch(const cupola_dimensions& d) const {
    log("launch " + title + ", grid " + triple(d.grid) + ", block " + triple(d.block));
}

// Every word of an argument may be an address inside a struct.
void Kernel::require_contents(void* const* pointers, const Stream& stream) const {
    Capture::require_usable(stream);
    if (!any_capture() || stream.flight.capturing()) return;
    const std::vector<Parameter>& list = parameters();
    for (std::size_t i = 0; i < list.size(); ++i)
        for (std::size_t at = 0; at + 8 <= list[i].size; at += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, static_cast<const char*>(pointers[i]) + at, sizeof word);
            if (word && Capture::lacks_contents(stream, word))
                fail_argument(*this, i, CUPOLA_ERROR_VALUE, Capture::without_contents);
        }
}

void Kernel::launch_instrumented(const cupola_dimensions& d, const cupola_attributes* attributes,
                                 void** pointers, Stream& stream) {
    require_contents(pointers, stream);
    const Driver& driver = context.driver;
    if (WorkObserver* observer = WorkObserver::of(driver))
        if (!observer->launch(*this, d, attributes, pointers, stream)) return;
    if (driver.debug()) log_launch(d);
    if (driver.instrumented.load(std::memory_order_relaxed) & Driver::prints)
        Output::before_launch();
    const ObservedLaunch observed(*this, d, attributes, pointers, stream);
    {
        const Span span(CUPOLA_PROFILE_LAUNCH, interned_title_, &stream, 0, &d);
        launch_in_context(d, attributes, pointers, stream);
    }
    launched_.store(true, std::memory_order_relaxed);
    stream.flight.add(interned_title_, d, [&] { return null_arguments(pointers); });
    if (driver.synchronous && !stream.flight.capturing()) synchronize(stream);
}

}  // namespace cupola
