// csrc/ptx/device_runtime.hpp - CUDA's device runtime, as far as cooperative groups call it.
#pragma once

#include <vector>

#include "ptx/outline.hpp"
#include "ptx/program.hpp"

namespace cupola::ptx {

// Definitions of those functions that the module declares and does not define.
std::vector<Piece> device_runtime(const Module& module);

}  // namespace cupola::ptx
