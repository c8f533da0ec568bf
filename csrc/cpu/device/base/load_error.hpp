// csrc/cpu/device/base/load_error.hpp - errors of loads, links and cuInit that have a text.
#pragma once

#include <string>

#include "cpu/device/base/cuda.hpp"
#include "ptx/error.hpp"

namespace cupola::cpu {

// The result of a call whose PTX has an error of this kind.
CUresult code_of(ptx::Error::Kind kind);
// Fails the call, writes the text to the log, and stores it for last_load_error().
[[noreturn]] void fail_load(const ptx::Error& error);
[[noreturn]] void fail_load(CUresult code, std::string text);
// Stores the text of an error of cuInit for last_load_error().
void store_load_error(std::string text);
// The text of this thread's last such error; empty if there was no error.
const std::string& last_load_error();

}  // namespace cupola::cpu
