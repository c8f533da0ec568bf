// csrc/cpu/interpreter/texture_decoder.hpp - decodes texture and surface instructions.
#pragma once

#include <cstdint>

#include "cpu/interpreter/code_builder.hpp"
#include "cpu/interpreter/decoded_functions.hpp"
#include "cpu/interpreter/operand_decoder.hpp"
#include "cpu/interpreter/register_file.hpp"
#include "cpu/interpreter/symbol_addresses.hpp"

namespace cupola::cpu::interpreter {

class TextureDecoder {
  public:
    TextureDecoder(CodeBuilder& code, const DecodedFunctions& functions, RegisterFile& registers,
                   SymbolAddresses& symbols, OperandDecoder& operands)
        : code_(code),
          functions_(functions),
          registers_(registers),
          symbols_(symbols),
          operands_(operands) {}

    void decode(const ptx::Instruction& i);

  private:
    std::int32_t handle(const ptx::Operand& o);

    CodeBuilder& code_;
    const DecodedFunctions& functions_;
    RegisterFile& registers_;
    SymbolAddresses& symbols_;
    OperandDecoder& operands_;
};

}  // namespace cupola::cpu::interpreter
