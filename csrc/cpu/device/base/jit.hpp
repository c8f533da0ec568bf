// csrc/cpu/device/base/jit.hpp - the JIT options of a module load or a link: log buffers, limits
// and times.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cpu/device/base/cuda.hpp"

namespace cupola::cpu {

class JitOptions {
  public:
    // Throws Failure if an option is unknown or has no value.
    JitOptions(unsigned count, const CUjit_option* options, void** values);

    // Errors, and information. `finish` writes them to the caller's buffers.
    std::string errors, information;
    void finish();

    // The options' register limit for kernels without their own; 0 if unlimited.
    unsigned register_limit() const;

    // Whether products are fused with sums: not without optimisation, and not in code to debug.
    bool contracts() const;

  private:
    static constexpr std::size_t absent = ~std::size_t{0};

    std::size_t place(CUjit_option option) const;
    unsigned word(std::size_t place) const;
    unsigned word_of(CUjit_option option, unsigned otherwise) const;
    void write(CUjit_option buffer, CUjit_option size, const std::string& text);
    void set(std::size_t place, unsigned word);
    void publish(const std::vector<void*>& before);

    // A link outlives its caller's array of options and, in many programs, the array of values.
    std::vector<CUjit_option> options_;
    const std::vector<void*> given_;
    std::vector<void*> now_;  // the current values of the caller's array
    void** const values_;
    const std::chrono::steady_clock::time_point begin_;
};

}  // namespace cupola::cpu
