// csrc/cpu/interpreter/zero_columns.cpp - reads zero-column mask descriptors.
#include "cpu/interpreter/zero_columns.hpp"

namespace cupola::cpu::interpreter {

ZeroColumns::ZeroColumns(std::uint64_t bits, unsigned m, unsigned group)
    : bits_(bits), group_(group) {
    const unsigned most = m == 32 ? 16 : 32;
    if ((bits >> 36 & 7) != 0 || bits >> 62 != 0)
        error = "bits 36, 37, 38, 62 and 63 must be 0";
    else if (shift() > most)
        error = "bits 56 to 61: columns are shifted by up to " + std::to_string(most) + ", got " +
                std::to_string(shift());
}

// Columns of B and zeros alternate in each group of columns. The manual's table and its examples
// name the two spans in opposite ways; this follows the examples.
bool ZeroColumns::contains(unsigned column) const {
    if ((bits_ >> 39 & 1) == 0) return false;
    const unsigned number = column / group_;
    const auto used = static_cast<unsigned>(bits_ >> 48 & 255) + 1;
    const auto zeros = static_cast<unsigned>(bits_ >> 40 & 255) + 1;
    const auto skipped = static_cast<unsigned>(bits_ >> 8 * number & 255);
    const unsigned at = (column % group_ + skipped) % (used + zeros);
    return (bits_ >> (32 + number) & 1) != 0 ? at < zeros : at >= used;
}

}  // namespace cupola::cpu::interpreter
