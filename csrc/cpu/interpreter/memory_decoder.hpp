// csrc/cpu/interpreter/memory_decoder.hpp - decodes loads, stores and atomics.
#pragma once

#include <cstdint>
#include <string_view>

#include "cpu/interpreter/address_decoder.hpp"
#include "cpu/interpreter/code_builder.hpp"
#include "cpu/interpreter/decoded_functions.hpp"
#include "cpu/interpreter/operand_decoder.hpp"
#include "cpu/interpreter/register_file.hpp"

namespace cupola::cpu::interpreter {

// The word of an operation in the names of instructions.
std::string_view spelled(ptx::Atomic operation);

class MemoryDecoder {
  public:
    MemoryDecoder(CodeBuilder& code, const DecodedFunctions& functions, RegisterFile& registers,
                  OperandDecoder& operands, AddressDecoder& addresses)
        : code_(code),
          functions_(functions),
          registers_(registers),
          operands_(operands),
          addresses_(addresses) {}

    void decode(const ptx::Instruction& i);
    void atomic(const ptx::Instruction& i);
    // Multimem instructions on memory of one device.
    void multimem(const ptx::Instruction& i, ptx::Space space);

  private:
    void parameter_load(const ptx::Instruction& i);
    void in_halves(DecodedOp code, const std::int32_t* values, unsigned width);
    void wide_atomic(const ptx::Instruction& i);
    void vector_atomic(const ptx::Instruction& i);

    CodeBuilder& code_;
    const DecodedFunctions& functions_;
    RegisterFile& registers_;
    OperandDecoder& operands_;
    AddressDecoder& addresses_;
};

}  // namespace cupola::cpu::interpreter
