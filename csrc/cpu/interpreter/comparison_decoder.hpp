// csrc/cpu/interpreter/comparison_decoder.hpp - decodes comparisons that are several operations.
#pragma once

#include <cstdint>

#include "cpu/interpreter/code_builder.hpp"
#include "cpu/interpreter/decoded_functions.hpp"
#include "cpu/interpreter/operand_decoder.hpp"
#include "cpu/interpreter/register_file.hpp"

namespace cupola::cpu::interpreter {

class ComparisonDecoder {
  public:
    ComparisonDecoder(CodeBuilder& code, const DecodedFunctions& functions, RegisterFile& registers,
                      OperandDecoder& operands)
        : code_(code), functions_(functions), registers_(registers), operands_(operands) {}

    // set, and setp with a second predicate or of packed halves.
    void decode(const ptx::Instruction& i);
    // lop3 with a predicate: true where any bit is set, combined with another predicate.
    void lop3(const ptx::Instruction& i);

  private:
    void compare_halves(const ptx::Instruction& i);

    CodeBuilder& code_;
    const DecodedFunctions& functions_;
    RegisterFile& registers_;
    OperandDecoder& operands_;
};

}  // namespace cupola::cpu::interpreter
