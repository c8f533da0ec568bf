// csrc/runtime/driver.hpp - the driver as a table of function pointers. Nothing else in the runtime
// knows which driver it is, or calls a cu* function by any other way.
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "runtime/error.hpp"
#include "runtime/log.hpp"
#include "runtime/symbols.hpp"

namespace cupola {

// What the user says of copies of pageable memory (staging.cpp).
struct StagingSettings {
    static constexpr std::uint64_t not_set = ~std::uint64_t{0};
    std::uint64_t bytes = not_set;  // CUPOLA_STAGING_BYTES: of how many on; 0: never
    std::uint64_t threads = 0;      // CUPOLA_STAGING_THREADS; 0: not set
};

struct Driver {
    // First what each launch looks at: beside each other, and beside the table's first rows.
    // Why launches take the way on which more is done than to launch: mostly none of these.
    enum { logged = 1, waited_for = 2, profiled = 4 };
    mutable std::atomic<unsigned> closely{0};
    bool synchronous = false;  // CUPOLA_SYNC=1: each launch is waited for
    Log log = Log::off;
#define CUPOLA_MEMBER(name, version) PFN_##name##_v##version name = nullptr;
    CUPOLA_DRIVER_SYMBOLS(CUPOLA_MEMBER, CUPOLA_MEMBER)
#undef CUPOLA_MEMBER
    // cupola_cpu_last_fault and _refusal, where the CPU device offers them.
    const char* (*fault)(void) = nullptr;
    const char* (*refusal)(void) = nullptr;
    bool cpu = false;  // cupola's CPU device
    StagingSettings staging;
    int version = 0;
    std::string path, reason, notice;

    bool debug() const noexcept { return __builtin_expect(log >= Log::debug, 0); }
};

// Set while the driver may be called: between its initialisation and the process's exit or fork.
extern std::atomic<const Driver*> alive;

// The driver, loaded and initialised at the first call. Throws where there is none.
const Driver& load_driver();
inline const Driver& driver() {
    const Driver* driver = alive.load(std::memory_order_acquire);
    return __builtin_expect(driver != nullptr, 1) ? *driver : load_driver();
}

// For deleters: null once the driver must not be called any more.
inline const Driver* driver_alive() noexcept { return alive.load(std::memory_order_acquire); }

// "13.0" of 13000.
inline std::string version_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// What the CPU device says of the last fault in device code, "" or null where it says nothing.
const char* last_fault() noexcept;
// And of the PTX that this thread was last refused.
const char* last_refusal() noexcept;

}  // namespace cupola

// Calls a driver function and throws what its code means.
#define CUPOLA_CALL(name, ...) ::cupola::check(::cupola::driver().name(__VA_ARGS__), #name)
