// csrc/ptx/verify.hpp - whether operands may stand where a row of the table has its shapes.
#pragma once

#include <string>

#include "ptx/match.hpp"
#include "ptx/program.hpp"

namespace cupola::ptx {

// What an operand's check needs of its surroundings.
struct Surroundings {
    const Module& module;
    const Function& function;
    const Operand* operands;
    std::uint32_t count;
};

// Empty where the operands suit the candidate's row; else what is wrong with them.
std::string misfit(const Candidate& candidate, const Surroundings& here);

unsigned bits_of_special(Special special);

}  // namespace cupola::ptx
