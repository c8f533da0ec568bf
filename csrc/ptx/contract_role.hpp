// csrc/ptx/contract_role.hpp - the part that each row of the table plays in contraction.
#pragma once

#include <cstdint>

#include "ptx/program.hpp"

namespace cupola::ptx {

enum class ContractRole : std::uint8_t {
    none,
    product,
    sum,
    difference,
    fused,
    negation,
    copy,
    load,
    comparison,  // a comparison of f32
    iteration,   // NVIDIA's assembler makes a call of it
    fence,
    branch,
    table_branch,
    leave,  // ret, exit, trap
    call,
};

ContractRole contract_role(const Instruction& i);

// The row that computes fma, or that negates, values of a type.
FormId fused_row(Type type);
FormId negation_row(Type type);

bool is_packed(Type type);
bool is_destination(OperandConstraint constraint);

// Whether NVIDIA's assembler ends a basic block at this instruction, which is not a branch. It does
// where it calls a function of its own, and where it has to branch around a guarded instruction.
bool splits_block(const Instruction& i);

}  // namespace cupola::ptx
