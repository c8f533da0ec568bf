// csrc/runtime/driver/driver.hpp - the driver that this process has loaded, and the errors of its
// calls.
#pragma once

#include <atomic>
#include <string>

#include "runtime/base/error.hpp"
#include "runtime/driver/table.hpp"

namespace cupola {

// Set while the driver may be called: between its initialisation and the process's exit or fork.
extern std::atomic<const Driver*> alive;

// The driver, loaded and initialised at the first call. Throws where there is none.
const Driver& load_driver();
// Takes "auto", "cuda", "cpu" or a path in place of the environment's CUPOLA_DRIVER. Throws where a
// driver is loaded already.
void select_driver(const std::string& choice);
// A line for each place where a driver was looked for; empty in a forked child.
std::string driver_report();

inline const Driver& driver() {
    const Driver* driver = alive.load(std::memory_order_acquire);
    return __builtin_expect(driver != nullptr, 1) ? *driver : load_driver();
}

// For deleters: null once the driver must not be called any more.
inline const Driver* driver_alive() noexcept { return alive.load(std::memory_order_acquire); }

// What the CPU device says of the last fault in device code, "" or null where it says nothing.
const char* last_fault() noexcept;
// And of the PTX that this thread was last refused.
const char* last_refusal() noexcept;

// Lists the launches that were not waited for. The record of launches, which is above the driver,
// sets it.
extern std::atomic<std::string (*)()> report_launches;

// Throws the Error of a driver call's code; `call` is the function's name, `what` adds to the text.
[[noreturn, gnu::cold]] void fail_driver(CUresult code, const char* call,
                                         const std::string& what = {});

inline void check(CUresult code, const char* call) {
    if (__builtin_expect(code != CUDA_SUCCESS, 0)) fail_driver(code, call);
}

}  // namespace cupola

// Calls a driver function and throws what its code means.
#define CUPOLA_CALL(name, ...) ::cupola::check(::cupola::driver().name(__VA_ARGS__), #name)
