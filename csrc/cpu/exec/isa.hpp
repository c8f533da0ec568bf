// csrc/cpu/exec/isa.hpp - the handlers compiled for each instruction set of the host, and the
// choice among them.
#pragma once

#include "cpu/exec/code.hpp"
#include "cpu/exec/matrix_tile.hpp"
#include "ptx/table.hpp"

namespace cupola::cpu::exec {

// A row's instance: what its types and modifiers are.
struct Key {
    ptx::Type type = ptx::Type::none, type2 = ptx::Type::none;
    ptx::Bits modifiers = 0;
    bool* by_lane = nullptr;  // where to note whether its semantics is a function of one lane
};

// How many of Code::op an operand takes, and where those of the n-th begin.
constexpr unsigned slots_of(ptx::OperandConstraint s) {
    return s == ptx::OperandConstraint::imm                                     ? 0
           : s == ptx::OperandConstraint::pq || s == ptx::OperandConstraint::dp ? 2
                                                                                : 1;
}
constexpr unsigned slot_of(const ptx::OperandConstraints& shapes, std::size_t n) {
    unsigned slot = 0;
    for (std::size_t i = 0; i < n; ++i) slot += slots_of(shapes.list[i]);
    return slot;
}

struct Isa {
    const char* name;
    // nullptr for rows that the decoder builds from others.
    Handler (*find)(ptx::FormId form, const Key& key);
    Handler (*find_parameter_load)(unsigned bytes);
    const TileProducts* products;
};

// The best that this processor runs, or of the level that is used.
const Isa& isa();

}  // namespace cupola::cpu::exec
