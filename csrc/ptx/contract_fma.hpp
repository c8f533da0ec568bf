// csrc/ptx/contract_fma.hpp - fuses products with sums, as NVIDIA's assembler does by default.
#pragma once

#include <string>
#include <string_view>

#include "ptx/program.hpp"

namespace cupola::ptx {

// Replaces mul, and add or sub, by fma where none of them has a rounding modifier. The choice of
// sums is that of NVIDIA's assembler; docs/internals/ptx.md lists the rules.
void contract_fma(Module& module);

// The text with a rounding modifier in every product, which keeps it from being fused.
std::string forbid_contraction(std::string_view source);

}  // namespace cupola::ptx
