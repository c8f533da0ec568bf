// csrc/cpu/ir/proof.hpp - how printed code shows that a result rises by a constant from lane to
// lane where its sources do. The analysis and printed code use it.
#pragma once

#include <cstdint>

namespace cupola::cpu::compiler {

enum class Proof : std::uint8_t {
    linear,  // no test is needed: sums, and products with a constant
    ends,    // test the ends: the function rises or falls throughout, as / by a uniform value does
    low_bits,  // the same, and test that a mask is of low bits: & of a value that rises
    uniform,   // no test is needed: a function of uniform values
};

}  // namespace cupola::cpu::compiler
