// csrc/runtime/launch/launch.hpp - the fast launch path: one driver call, without checks.
#pragma once

#include "runtime/context/stream.hpp"
#include "runtime/module/kernel.hpp"

namespace cupola {

// A buffer for the addresses of `count` arguments, valid until this thread's next launch.
[[gnu::cold]] void** many_pointers(std::size_t count);

[[gnu::always_inline]] inline CUresult Kernel::queue(const Driver& driver,
                                                     const cupola_dimensions& d,
                                                     const cupola_attributes* attributes,
                                                     void** pointers, CUstream stream) const {
    if (__builtin_expect(attributes != nullptr, 0)) return send(d, *attributes, pointers, stream);
    return driver.cuLaunchKernel(handle, d.grid[0], d.grid[1], d.grid[2], d.block[0], d.block[1],
                                 d.block[2], d.shared, stream, pointers, nullptr);
}

// The driver's code evicts this code from the caches. So rare code is kept out of line, and data
// that each launch needs is kept together.
[[gnu::always_inline]] inline void Kernel::launch_with_pointers(const cupola_dimensions& d,
                                                                const cupola_attributes* attributes,
                                                                void** pointers, Stream& stream) {
    module->require_loaded();  // another thread may have unloaded it since the check
    if (__builtin_expect(&stream.context != &context, 0)) fail_stream(stream);
    const Driver& driver = context.driver;
    allow_shared(d.shared);
    if (__builtin_expect(driver.instrumented.load(std::memory_order_relaxed) != 0, 0))
        return launch_instrumented(d, attributes, pointers, stream);
    // Function and stream imply the context, except for a default stream, which is the current
    // context's. Where that is the wrong one, the driver returns an error.
    const CUresult code = queue(driver, d, attributes, pointers, stream.handle);
    if (__builtin_expect(code != CUDA_SUCCESS, 0))
        launch_again(code, d, attributes, pointers, stream);
    // A store each time would take the cache line from other threads that launch this kernel.
    if (__builtin_expect(!launched(), 0)) launched_.store(true, std::memory_order_relaxed);
    stream.flight.add(interned_title_, d, [&] { return null_arguments(pointers); });
}

[[gnu::always_inline]] inline void Kernel::launch(const cupola_dimensions& d,
                                                  const cupola_attributes* attributes,
                                                  const void* buffer, Stream& stream) {
    constexpr std::size_t usual = 32;
    void* few[usual];
    const std::size_t count = offsets_.size();
    void** pointers = __builtin_expect(count <= usual, 1) ? few : many_pointers(count);
    argument_pointers(buffer, pointers);
    launch_with_pointers(d, attributes, pointers, stream);
}

}  // namespace cupola
