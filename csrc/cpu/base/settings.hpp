// csrc/cpu/base/settings.hpp - environment variables of the CPU device, read once by cuInit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "cpu/base/checks.hpp"
#include "cpu/base/mode.hpp"

namespace cupola::cpu {

struct Settings {
    int devices = 1;      // CUPOLA_CPU_DEVICES
    int threads = 1;      // CUPOLA_CPU_THREADS; default: the cores that this process may use
    int capability = 90;  // CUPOLA_CPU_COMPUTE_CAPABILITY, "9.0" or "90"
    double timeout = 0;   // CUPOLA_CPU_TIMEOUT, the limit of a kernel in seconds; 0: none
    Mode mode = Mode::automatic;        // CUPOLA_CPU_MODE
    std::string level;                  // CUPOLA_CPU_LEVEL, of the instruction set; "": the best
    Checks checks;                      // CUPOLA_CPU_CHECK
    std::string coverage;               // CUPOLA_CPU_COVERAGE: a file; "": none
    bool fma = true;                    // CUPOLA_CPU_FMA: fuse products with sums
    bool integrated = false;            // CUPOLA_CPU_INTEGRATED: the rules of integrated GPUs
    std::optional<std::uint64_t> seed;  // CUPOLA_CPU_SEED: a random order
    std::string debugger;               // CUPOLA_CPU_DEBUG, the Unix socket of a front end
    std::size_t memory = 0;  // bytes of all devices together: half of this machine's memory

    // Returns false and one line in `error` if a variable is malformed.
    static bool read(Settings& settings, std::string& error);
};

}  // namespace cupola::cpu
