// csrc/cpu/interpreter/zero_columns.hpp - the zero-column mask descriptor of tcgen05.mma.ws: the
// columns of B that are 0 in the product, and the column that B begins at.
#pragma once

#include <cstdint>
#include <string>

namespace cupola::cpu::interpreter {

class ZeroColumns {
  public:
    // No column is 0.
    ZeroColumns() = default;
    // Of a product with M rows; each lane of D has `group` columns.
    ZeroColumns(std::uint64_t bits, unsigned m, unsigned group);

    // Why the bits are no descriptor; empty if they are.
    std::string error;

    bool contains(unsigned column) const;
    unsigned shift() const { return static_cast<unsigned>(bits_ >> 56 & 63); }

  private:
    std::uint64_t bits_ = 0;
    unsigned group_ = 1;
};

}  // namespace cupola::cpu::interpreter
