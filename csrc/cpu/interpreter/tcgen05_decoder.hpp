// csrc/cpu/interpreter/tcgen05_decoder.hpp - decodes instructions on tensor memory.
#pragma once

#include "cpu/interpreter/address_decoder.hpp"
#include "cpu/interpreter/code_builder.hpp"
#include "cpu/interpreter/decoded_functions.hpp"
#include "cpu/interpreter/operand_decoder.hpp"

namespace cupola::cpu::interpreter {

class Tcgen05Decoder {
  public:
    Tcgen05Decoder(CodeBuilder& code, const DecodedFunctions& functions, OperandDecoder& operands,
                   AddressDecoder& addresses)
        : code_(code), functions_(functions), operands_(operands), addresses_(addresses) {}

    void decode(const ptx::Instruction& i);

  private:
    TensorAddress address(const ptx::Operand& o);
    void multiply(const ptx::Instruction& i, bool sparse, bool stationary);
    void copy(const ptx::Instruction& i);
    void reduce(const ptx::Instruction& i);
    void access(const ptx::Instruction& i, bool loads);
    void emit(Handler handler, TensorAccess& access, const ptx::Operand& memory,
              const ptx::Operand& vector, bool loads);

    CodeBuilder& code_;
    const DecodedFunctions& functions_;
    OperandDecoder& operands_;
    AddressDecoder& addresses_;
};

}  // namespace cupola::cpu::interpreter
