// csrc/cpu/interpreter/video_decoder.hpp - decodes video instructions.
#pragma once

#include <cstdint>

#include "cpu/interpreter/code_builder.hpp"
#include "cpu/interpreter/decoded_functions.hpp"
#include "cpu/interpreter/operand_decoder.hpp"
#include "cpu/interpreter/register_file.hpp"

namespace cupola::cpu::interpreter {

class VideoDecoder {
  public:
    VideoDecoder(CodeBuilder& code, const DecodedFunctions& functions, RegisterFile& registers,
                 OperandDecoder& operands)
        : code_(code), functions_(functions), registers_(registers), operands_(operands) {}

    void decode(const ptx::Instruction& i);

  private:
    CodeBuilder& code_;
    const DecodedFunctions& functions_;
    RegisterFile& registers_;
    OperandDecoder& operands_;
};

}  // namespace cupola::cpu::interpreter
