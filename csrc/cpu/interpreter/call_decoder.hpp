// csrc/cpu/interpreter/call_decoder.hpp - decodes calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "cpu/interpreter/code_builder.hpp"
#include "cpu/interpreter/decoded_functions.hpp"
#include "cpu/interpreter/operand_decoder.hpp"
#include "cpu/interpreter/symbol_addresses.hpp"

namespace cupola::cpu::interpreter {

class CallDecoder {
  public:
    CallDecoder(CodeBuilder& code, const DecodedFunctions& functions, SymbolAddresses& symbols,
                OperandDecoder& operands)
        : code_(code), functions_(functions), symbols_(symbols), operands_(operands) {}

    void decode(const ptx::Instruction& i);
    // Sets the targets of all calls, when each function has its place in the code.
    void resolve();

  private:
    void builtin(const ptx::Instruction& i, const ptx::Call& call, const ptx::Function& to);

    CodeBuilder& code_;
    const DecodedFunctions& functions_;
    SymbolAddresses& symbols_;
    OperandDecoder& operands_;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> direct_;  // index in the code, function
    std::size_t targets_ = 0;                                      // of indirect calls
};

}  // namespace cupola::cpu::interpreter
