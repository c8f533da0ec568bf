// csrc/cpu/jit.hpp - the JIT options of a module load: log buffers in, logs and times out.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cpu/cuda.hpp"

namespace cupola::cpu {

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

    // A link outlives its caller's array of options, not the one of values.
    std::vector<CUjit_option> options_;
    void** const values_;
    const std::chrono::steady_clock::time_point begin_;
};

}  // namespace cupola::cpu
