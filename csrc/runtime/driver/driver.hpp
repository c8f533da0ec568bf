// csrc/runtime/driver/driver.hpp - the process's loaded driver, and errors of its calls.
#pragma once

#include <atomic>
#include <string>

#include "runtime/base/error.hpp"
#include "runtime/driver/table.hpp"

namespace cupola {

// Set while the driver may be called: from its initialization until the process exits or forks.
extern std::atomic<const Driver*> alive;

// Loads and initializes the driver at the first call. Throws where none is usable.
const Driver& load_driver();
// Sets "auto", "cuda", "cpu" or a path, which overrides CUPOLA_DRIVER. Throws where a driver is
// already loaded.
void select_driver(const std::string& choice);
// A line for each place that was searched for a driver; empty in a forked child.
std::string driver_report();

inline const Driver& driver() {
    const Driver* driver = alive.load(std::memory_order_acquire);
    return __builtin_expect(driver != nullptr, 1) ? *driver : load_driver();
}

// For deleters: null after the driver must no longer be called.
inline const Driver* driver_alive() noexcept { return alive.load(std::memory_order_acquire); }

// The CPU device's text about the last fault in device code; "" or null where there is none.
const char* last_fault() noexcept;
// The CPU device's text about the last PTX of this thread that it refused.
const char* last_refusal() noexcept;

// Lists launches that were not waited for. Flight, which is above the driver, sets it.
extern std::atomic<std::string (*)()> report_launches;

// Throws the Error for a driver call's code. `call` is the function's name; `what` is added to the
// text.
[[noreturn, gnu::cold]] void fail_driver(CUresult code, const char* call,
                                         const std::string& what = {});

inline void check(CUresult code, const char* call) {
    if (__builtin_expect(code != CUDA_SUCCESS, 0)) fail_driver(code, call);
}

}  // namespace cupola

// Calls a driver function and throws where it fails.
#define CUPOLA_CALL(name, ...) ::cupola::check(::cupola::driver().name(__VA_ARGS__), #name)
