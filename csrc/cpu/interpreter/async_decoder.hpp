// csrc/cpu/interpreter/async_decoder.hpp - decodes asynchronous copies and mbarriers.
#pragma once

#include <cstdint>

#include "cpu/interpreter/address_decoder.hpp"
#include "cpu/interpreter/async.hpp"
#include "cpu/interpreter/code_builder.hpp"
#include "cpu/interpreter/decoded_functions.hpp"
#include "cpu/interpreter/memory_decoder.hpp"
#include "cpu/interpreter/operand_decoder.hpp"
#include "cpu/interpreter/register_file.hpp"

namespace cupola::cpu::interpreter {

class AsyncDecoder {
  public:
    AsyncDecoder(CodeBuilder& code, const DecodedFunctions& functions, RegisterFile& registers,
                 OperandDecoder& operands, AddressDecoder& addresses, MemoryDecoder& memory)
        : code_(code),
          functions_(functions),
          registers_(registers),
          operands_(operands),
          addresses_(addresses),
          memory_(memory) {}

    void decode(const ptx::Instruction& i);

  private:
    // The handler of the instruction's row in the table.
    BoundHandler row_handler(const ptx::Instruction& i) const;
    // A handler that executes the instruction, or a part of the instruction.
    BoundHandler part(const ptx::Instruction& i, Handler run) const;
    void mbarrier(const ptx::Instruction& i, Handler run, ptx::Space space);
    void first_block(const ptx::Instruction& i);
    void tensor(const ptx::Instruction& i, AsyncKind kind);
    void tensor_field(const ptx::Instruction& i, ptx::Space space);

    CodeBuilder& code_;
    const DecodedFunctions& functions_;
    RegisterFile& registers_;
    OperandDecoder& operands_;
    AddressDecoder& addresses_;
    MemoryDecoder& memory_;
};

}  // namespace cupola::cpu::interpreter
