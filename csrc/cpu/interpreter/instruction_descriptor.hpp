// csrc/cpu/interpreter/instruction_descriptor.hpp - the instruction descriptor of tcgen05.mma: the
// size of a product, and its element types.
#pragma once

#include <cstdint>
#include <string>

#include "ptx/matrix.hpp"
#include "ptx/tcgen05.hpp"

namespace cupola::cpu::interpreter {

struct InstructionDescriptor {
    ptx::Element d{}, a{}, b{};
    bool saturate = false, negate_a = false, negate_b = false;
    bool transpose_a = false, transpose_b = false;  // k is the outer dimension
    unsigned m = 0, n = 0;
    // Why the bits are no descriptor of a dense product of this kind; empty if they are.
    std::string error;

    InstructionDescriptor(ptx::TensorKind kind, std::uint32_t bits);

  private:
    void take_types(ptx::TensorKind kind, std::uint32_t bits);
    void check_size(ptx::TensorKind kind);
};

}  // namespace cupola::cpu::interpreter
