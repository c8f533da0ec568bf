// csrc/cpu/startup.hpp - starts the driver of the process.
#pragma once

#include "cpu/cuda.hpp"

namespace cupola::cpu {

// The work of cuInit; later calls return the state.
CUresult initialize(unsigned flags);

}  // namespace cupola::cpu
