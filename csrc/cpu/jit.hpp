// csrc/cpu/jit.hpp - the JIT options of a module load: log buffers in, logs and times out.
#pragma once

#include <chrono>
#include <string>

#include "cpu/cuda.hpp"
#include "ptx/error.hpp"

namespace cupola::cpu {

// What a caller is told of PTX that was refused.
CUresult code_of(ptx::Error::Kind kind);
// Ends a call with that code, and keeps the text for whoever asks for it on this thread.
[[noreturn]] void refuse(const ptx::Error& error);
[[noreturn]] void refuse(CUresult code, std::string text);
// The text of this thread's last such end; empty where there was none.
const std::string& last_refusal();

class JitOptions {
  public:
    // Throws Failure where an option is unknown or has no value.
    JitOptions(unsigned count, const CUjit_option* options, void** values);

    // What went wrong, or what was taken. Written to the caller's buffers by `finish`.
    std::string errors, information;
    void finish();

  private:
    void write(CUjit_option buffer, CUjit_option size, const std::string& text);
    void** value(CUjit_option option);

    const unsigned count_;
    const CUjit_option* const options_;
    void** const values_;
    const std::chrono::steady_clock::time_point begin_;
};

}  // namespace cupola::cpu
