// csrc/cpu/interpreter/operand_decoder.hpp - decodes operands to places in the register file.
#pragma once

#include <cstdint>

#include "cpu/interpreter/code_builder.hpp"
#include "cpu/interpreter/decoded_functions.hpp"
#include "cpu/interpreter/register_file.hpp"
#include "cpu/interpreter/symbol_addresses.hpp"

namespace cupola::cpu::interpreter {

// The integer type of a width in bytes, for the extension or truncation of a loaded value.
Type resizable(unsigned width, bool sign);

class OperandDecoder {
  public:
    OperandDecoder(CodeBuilder& code, const DecodedFunctions& functions, RegisterFile& registers,
                   SymbolAddresses& symbols)
        : code_(code), functions_(functions), registers_(registers), symbols_(symbols) {}

    // The register of the function.
    std::int32_t reg(std::uint32_t index);
    // 32 lanes that hold the operand as `type`.
    std::int32_t source(const ptx::Operand& o, Type type);
    // A source of ld, st or cvt may be wider than the type: its low part is used.
    std::int32_t relaxed_source(const ptx::Operand& o, Type type);
    // The register that receives the result; 0 if the result is dropped.
    std::int32_t destination(const ptx::Operand& o) {
        return o.kind == Kind::reg ? reg(o.index) : 0;
    }
    std::int32_t predicate(const ptx::Operand& o);
    // Emits an extension or truncation.
    void resize(std::int32_t to, Type to_type, std::int32_t from, Type from_type);

  private:
    std::int32_t special(ptx::Special which, unsigned width);

    CodeBuilder& code_;
    const DecodedFunctions& functions_;
    RegisterFile& registers_;
    SymbolAddresses& symbols_;
};

}  // namespace cupola::cpu::interpreter
