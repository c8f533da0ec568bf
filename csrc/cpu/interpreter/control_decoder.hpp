// csrc/cpu/interpreter/control_decoder.hpp - decodes branches, barriers and the ends of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/interpreter/block_order.hpp"
#include "cpu/interpreter/call_decoder.hpp"
#include "cpu/interpreter/code_builder.hpp"
#include "cpu/interpreter/decoded_functions.hpp"
#include "cpu/interpreter/operand_decoder.hpp"
#include "cpu/interpreter/register_file.hpp"
#include "cpu/interpreter/stack_decoder.hpp"

namespace cupola::cpu::interpreter {

class ControlDecoder {
  public:
    ControlDecoder(CodeBuilder& code, const DecodedFunctions& functions, RegisterFile& registers,
                   OperandDecoder& operands, StackDecoder& stack, CallDecoder& calls)
        : code_(code),
          functions_(functions),
          registers_(registers),
          operands_(operands),
          stack_(stack),
          calls_(calls) {}

    // Finds the basic blocks of the function that is decoded now.
    std::vector<BasicBlock> begin();
    // The block of an instruction, by its index in the function.
    std::uint32_t block_of(std::uint32_t instruction) const { return block_of_[instruction]; }
    void decode(const ptx::Instruction& i);
    void barrier(const ptx::Instruction& i);
    // Emits a jump to a basic block.
    void jump(std::uint32_t block);
    // Emits the end of a function, which frees its alloca memory.
    void leave();
    // Sets the targets of the function's branches, when each block has its place in the code.
    void end();
    // Sets the shares of time slices of all branches.
    void charge_branches();

  private:
    struct Branch {
        std::uint32_t code, block;
    };
    struct IndexedBranch {
        std::uint32_t code, table;
        std::vector<std::uint32_t> blocks;
    };

    CodeBuilder& code_;
    const DecodedFunctions& functions_;
    RegisterFile& registers_;
    OperandDecoder& operands_;
    StackDecoder& stack_;
    CallDecoder& calls_;
    std::vector<std::uint32_t> block_of_;
    std::vector<Branch> branches_;
    std::vector<IndexedBranch> indexed_;
};

}  // namespace cupola::cpu::interpreter
