// csrc/ptx/match.hpp - finds the rows of the table that an opcode ("add.rn.ftz.f32") matches.
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

// Every row that the opcode matches, in the table's order. The operands select one of them.
std::vector<Candidate> match(std::string_view opcode);

// Whether a row's mnemonic starts with this word. It distinguishes an unknown instruction from an
// unknown form of a known instruction.
bool is_mnemonic(std::string_view word);

// Whether an opcode has a word after its first, as a whole part between dots.
bool has_word(std::string_view opcode, std::string_view word);

}  // namespace cupola::ptx
