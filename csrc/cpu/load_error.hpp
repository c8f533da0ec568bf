// csrc/cpu/load_error.hpp - calls that end with a text which tells why.
#pragma once

#include <string>

#include "cpu/cuda.hpp"
#include "ptx/error.hpp"

namespace cupola::cpu {

// What a caller is told of PTX that was refused.
CUresult code_of(ptx::Error::Kind kind);
// Ends a call with that code, and keeps the text for whoever asks for it on this thread.
[[noreturn]] void fail_load(const ptx::Error& error);
[[noreturn]] void fail_load(CUresult code, std::string text);
// The text of this thread's last such end; empty where there was none.
const std::string& last_load_error();

}  // namespace cupola::cpu
