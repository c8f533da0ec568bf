// csrc/cpu/device/base/error_names.hpp - the name and the message of every CUresult.
#pragma once

#include "cpu/device/base/cuda.hpp"

namespace cupola::cpu {

// Null for an unknown code.
const char* error_name(CUresult code);
const char* error_text(CUresult code);

}  // namespace cupola::cpu
