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
    iteration,   // NVIDIA's assembler makes a call of this instruction
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

// Whether NVIDIA's assembler ends a basic block at this instruction, although it is no branch. This
// is so for an instruction that becomes a call of the assembler's own function, and for a guarded
// instruction that needs a branch around it.
bool splits_block(const Instruction& i);

}  // namespace cupola::ptx
