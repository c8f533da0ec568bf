// csrc/cpu/settings.hpp - what the environment asks of the CPU device, read once by cuInit.
#pragma once

#include <cstddef>
#include <string>

#include "cpu/native/native.hpp"
#include "cpu/watch/checks.hpp"

namespace cupola::cpu {

struct Settings {
    int devices = 1;      // CUPOLA_CPU_DEVICES
    int threads = 1;      // CUPOLA_CPU_THREADS, default: the cores this process may use
    int capability = 90;  // CUPOLA_CPU_COMPUTE_CAPABILITY, "9.0" or "90"
    double timeout = 0;   // CUPOLA_CPU_TIMEOUT, seconds a kernel may run; 0: for ever
    native::Mode mode = native::Mode::ahead;  // CUPOLA_CPU_MODE
    watch::Checks checks;                     // CUPOLA_CPU_CHECK
    std::size_t memory = 0;  // bytes of all devices together: half of what this machine has

    // False, and one line in `error`, where a variable is malformed.
    static bool read(Settings& settings, std::string& error);
};

}  // namespace cupola::cpu
