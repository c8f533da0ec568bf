// csrc/cpu/isa/handler_table.hpp - the handlers for one instruction set of the host.
#pragma once

#include "cpu/isa/code.hpp"
#include "cpu/isa/matrix_tile.hpp"
#include "ptx/table.hpp"

namespace cupola::cpu::interpreter {

// An instance of a row: its types and modifiers.
struct Key {
    ptx::Type type = ptx::Type::none, type2 = ptx::Type::none;
    ptx::Bits modifiers = 0;
    bool* by_lane = nullptr;  // output: whether the semantics is a function of one lane
};

// The number of DecodedOp::op entries of an operand, and the first entry of the n-th operand.
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
    // nullptr for rows that the decoder composes of others.
    Handler (*find)(ptx::FormId form, const Key& key);
    Handler (*find_parameter_load)(unsigned bytes);
    const TileProducts* products;
};

}  // namespace cupola::cpu::interpreter
