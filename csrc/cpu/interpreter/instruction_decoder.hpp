// csrc/cpu/interpreter/instruction_decoder.hpp - decodes one instruction to one or more operations.
#pragma once

#include "cpu/interpreter/async_decoder.hpp"
#include "cpu/interpreter/comparison_decoder.hpp"
#include "cpu/interpreter/control_decoder.hpp"
#include "cpu/interpreter/matrix_decoder.hpp"
#include "cpu/interpreter/memory_decoder.hpp"
#include "cpu/interpreter/tcgen05_decoder.hpp"
#include "cpu/interpreter/texture_decoder.hpp"
#include "cpu/interpreter/video_decoder.hpp"

namespace cupola::cpu::interpreter {

class InstructionDecoder {
  public:
    InstructionDecoder(CodeBuilder& code, const DecodedFunctions& functions,
                       RegisterFile& registers, SymbolAddresses& symbols, OperandDecoder& operands,
                       AddressDecoder& addresses, ControlDecoder& control)
        : code_(code),
          functions_(functions),
          registers_(registers),
          operands_(operands),
          addresses_(addresses),
          control_(control),
          memory_(code, functions, registers, operands, addresses),
          async_(code, functions, registers, operands, addresses, memory_),
          matrices_(code, functions, operands, addresses),
          tcgen05_(code, functions, operands, addresses),
          textures_(code, functions, registers, symbols, operands),
          video_(code, functions, registers, operands),
          comparisons_(code, functions, registers, operands) {}

    void decode(const ptx::Instruction& i);

  private:
    void unguarded(const ptx::Instruction& i);
    void plain(const ptx::Instruction& i);
    std::int32_t joined(const ptx::Operand& vector, Type type);
    void convert_address(const ptx::Instruction& i);
    void cluster_address(const ptx::Instruction& i);
    void repack(const ptx::Instruction& i);
    void move_vector(const ptx::Instruction& i);
    void unsynchronised(const ptx::Instruction& i);

    CodeBuilder& code_;
    const DecodedFunctions& functions_;
    RegisterFile& registers_;
    OperandDecoder& operands_;
    AddressDecoder& addresses_;
    ControlDecoder& control_;
    MemoryDecoder memory_;
    AsyncDecoder async_;
    MatrixDecoder matrices_;
    Tcgen05Decoder tcgen05_;
    TextureDecoder textures_;
    VideoDecoder video_;
    ComparisonDecoder comparisons_;
};

}  // namespace cupola::cpu::interpreter
