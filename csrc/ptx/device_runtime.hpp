// csrc/ptx/device_runtime.hpp - the functions of CUDA's device runtime that cooperative groups
// call.
#pragma once

#include <vector>

#include "ptx/outline.hpp"
#include "ptx/program.hpp"

namespace cupola::ptx {

// PTX definitions of the functions that the module declares but does not define.
std::vector<Piece> device_runtime(const Module& module);

}  // namespace cupola::ptx
