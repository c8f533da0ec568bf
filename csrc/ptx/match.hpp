// csrc/ptx/match.hpp - from an opcode as it is written ("add.rn.ftz.f32") to rows of the table.
#pragma once

#include <string_view>
#include <vector>

#include "ptx/table.hpp"

namespace cupola::ptx {

struct Candidate {
    FormId form;
    Type type = Type::none, type2 = Type::none;
    Bits modifiers = 0;
};

// Every row that the opcode fits, in the table's order; the operands decide among them.
std::vector<Candidate> match(std::string_view opcode);

// Whether some row's mnemonic starts with this word: tells an unknown instruction from an unknown
// form of a known one.
bool is_mnemonic(std::string_view word);

}  // namespace cupola::ptx
