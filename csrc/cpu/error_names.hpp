// csrc/cpu/error_names.hpp - the name and a short text of every CUresult.
#pragma once

#include "cpu/cuda.hpp"

namespace cupola::cpu {

// Null where there is no such code.
const char* error_name(CUresult code);
const char* error_text(CUresult code);

}  // namespace cupola::cpu
