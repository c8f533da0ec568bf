// csrc/cpu/interpreter/address_decoder.hpp - decodes the addresses of memory operands.
#pragma once

#include <cstdint>

#include "cpu/interpreter/code_builder.hpp"
#include "cpu/interpreter/decoded_functions.hpp"
#include "cpu/interpreter/operand_decoder.hpp"
#include "cpu/interpreter/register_file.hpp"
#include "cpu/interpreter/symbol_addresses.hpp"

namespace cupola::cpu::interpreter {

class AddressDecoder {
  public:
    AddressDecoder(CodeBuilder& code, const DecodedFunctions& functions, RegisterFile& registers,
                   SymbolAddresses& symbols, OperandDecoder& operands)
        : code_(code),
          functions_(functions),
          registers_(registers),
          symbols_(symbols),
          operands_(operands) {}

    // Sets the base (op[4]) and imm of an access, and returns its state space. A function's own
    // variables are in local memory.
    ptx::Space place_address(const ptx::Operand& m, ptx::Space space, DecodedOp& code);
    // Emits code for the host address of a memory operand; returns its register.
    std::int32_t host_address(const ptx::Operand& m, ptx::Space space);
    // The space of an access by a variable's name: the variable's own if the instruction names
    // none. Constant memory needs an explicit space.
    ptx::Space space_of_access(const ptx::Variable& v, ptx::Space space) const;

  private:
    CodeBuilder& code_;
    const DecodedFunctions& functions_;
    RegisterFile& registers_;
    SymbolAddresses& symbols_;
    OperandDecoder& operands_;
};

}  // namespace cupola::cpu::interpreter
