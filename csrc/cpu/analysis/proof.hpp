// csrc/cpu/analysis/proof.hpp - how emitted code proves that a result is affine where its sources
// are.
//
// The analysis and emitted code share it.
#pragma once

#include <cstdint>

namespace cupola::cpu::compiler {

enum class Proof : std::uint8_t {
    linear,     // no test is needed: sums, and products with a constant
    endpoints,  // test both ends: the function is monotonic, like / by a uniform value
    low_bits,   // test both ends, and that a mask has low bits only: & of an affine value
    field,      // test that both ends of inserted bits, and of the bits around them, agree above
    uniform,    // no test is needed: a function of uniform values
};

}  // namespace cupola::cpu::compiler
