// csrc/cpu/interpreter/stack_decoder.hpp - decodes alloca, stacksave and stackrestore.
#pragma once

#include <cstdint>

#include "cpu/interpreter/code_builder.hpp"
#include "cpu/interpreter/decoded_functions.hpp"
#include "cpu/interpreter/operand_decoder.hpp"
#include "cpu/interpreter/register_file.hpp"

namespace cupola::cpu::interpreter {

class StackDecoder {
  public:
    StackDecoder(CodeBuilder& code, const DecodedFunctions& functions, RegisterFile& registers,
                 OperandDecoder& operands)
        : code_(code), functions_(functions), registers_(registers), operands_(operands) {}

    void decode(const ptx::Instruction& i);
    // Whether the function has alloca.
    static bool allocates(const ptx::Function& f);
    // The alignment of the function's variables and allocations. Parameters of an entry are in
    // another bank.
    static std::uint32_t local_align(const ptx::Function& f);

  private:
    CodeBuilder& code_;
    const DecodedFunctions& functions_;
    RegisterFile& registers_;
    OperandDecoder& operands_;
};

}  // namespace cupola::cpu::interpreter
