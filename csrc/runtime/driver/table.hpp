// csrc/runtime/driver/table.hpp - the table of driver functions that the runtime calls.
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "runtime/base/log.hpp"
#include "runtime/driver/symbols.hpp"

namespace cupola {

// Environment settings for copies of pageable memory (see staging.cpp).
struct StagingSettings {
    static constexpr std::uint64_t not_set = ~std::uint64_t{0};
    std::uint64_t bytes = not_set;  // CUPOLA_STAGING_BYTES: the smallest size to stage; 0: never
    std::uint64_t threads = 0;      // CUPOLA_STAGING_THREADS; 0: not set
};

struct Driver {
    // Each launch reads these fields, so they share a cache line with the table's first rows.
    // Reasons for a launch to take the slow path; usually none.
    enum {
        logged = 1,
        waited_for = 2,
        profiled = 4,
        prints = 8,
        beside_capture = 16,
        observed = 32,
        recorded = 64
    };
    mutable std::atomic<unsigned> instrumented{0};
    bool synchronous = false;  // CUPOLA_SYNC=1: wait for each launch
    Log log = Log::off;
#define CUPOLA_MEMBER(name, version) PFN_##name##_v##version name = nullptr;
    CUPOLA_DRIVER_SYMBOLS(CUPOLA_MEMBER, CUPOLA_MEMBER)
#undef CUPOLA_MEMBER
    // cupola_cpu_last_fault and _refusal; null in NVIDIA's driver.
    const char* (*fault)(void) = nullptr;
    const char* (*refusal)(void) = nullptr;
    // cupola_cpu_last_assertion, _hold_output, _held_output and _take_output; null likewise.
    const char* (*assertion)(void) = nullptr;
    void (*hold_output)(int on) = nullptr;
    std::size_t (*held_output)(void) = nullptr;
    std::size_t (*take_output)(char* to, std::size_t room) = nullptr;
    bool cpu = false;       // cupola's CPU device
    int first_ordinal = 0;  // cupola's number of its device 0
    StagingSettings staging;
    int version = 0;
    std::string path, reason, notice;

    bool debug() const noexcept { return __builtin_expect(log >= Log::debug, 0); }
};

// 13000 as "13.0".
inline std::string version_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace cupola
