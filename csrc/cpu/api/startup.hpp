// csrc/cpu/api/startup.hpp - starts the driver of the process.
#pragma once

#include <string>

#include "cpu/base/settings.hpp"
#include "cpu/device/base/cuda.hpp"

namespace cupola::cpu {

// Reads the settings, and limits the instruction set of this process to their level. Returns false
// and one line in `error` if a variable is malformed.
bool read_settings(Settings& settings, std::string& error);

// The work of cuInit; later calls return the state.
CUresult initialize(unsigned flags);

}  // namespace cupola::cpu
