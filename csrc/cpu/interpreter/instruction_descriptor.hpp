// csrc/cpu/interpreter/instruction_descriptor.hpp - the instruction descriptor of tcgen05.mma: the
// size of a product, and its element types.
#pragma once

#include <cstdint>
#include <string>

#include "ptx/matrix.hpp"
#include "ptx/tcgen05.hpp"

namespace cupola::cpu::interpreter {

// The parts of a product that the instruction names, not its descriptor.
struct ProductKind {
    ptx::TensorKind types{};
    ptx::TensorScales scales{};
    bool sparse = false;
    bool stationary = false;  // .ws
    bool pair = false;        // of two blocks
    bool long_k = false;      // the target has K = 96
};

struct InstructionDescriptor {
    ptx::Element d{}, a{}, b{};
    bool saturate = false, negate_a = false, negate_b = false;
    bool transpose_a = false, transpose_b = false;  // k is the outer dimension
    unsigned m = 0, n = 0;
    unsigned row_bytes = 32;  // of A, and of a column of B, if the elements lie without padding
    unsigned selector = 0;    // of a sparse product: the column that has the metadata
    // Scale factors: their number in a row, and the byte of the first; ue4m3, otherwise ue8m0.
    unsigned scales = 0, first_scale_a = 0, first_scale_b = 0;
    bool scale_e4m3 = false;
    // Why the bits are no descriptor of a product of this kind; empty if they are.
    std::string error;

    InstructionDescriptor(const ProductKind& kind, std::uint32_t bits);

  private:
    void take_types(ptx::TensorKind kind, std::uint32_t bits);
    void take_plain(const ProductKind& kind, std::uint32_t bits);
    void take_scaled(const ProductKind& kind, std::uint32_t bits);
    void check_scales(const ProductKind& kind);
    void check_size(const ProductKind& kind);
    void check_stationary_size(bool sparse);
};

}  // namespace cupola::cpu::interpreter
