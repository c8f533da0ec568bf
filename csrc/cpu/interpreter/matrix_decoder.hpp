// csrc/cpu/interpreter/matrix_decoder.hpp - decodes matrix instructions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "cpu/interpreter/address_decoder.hpp"
#include "cpu/interpreter/code_builder.hpp"
#include "cpu/interpreter/decoded_functions.hpp"
#include "cpu/interpreter/matrix.hpp"
#include "cpu/interpreter/operand_decoder.hpp"

namespace cupola::cpu::interpreter {

class MatrixDecoder {
  public:
    MatrixDecoder(CodeBuilder& code, const DecodedFunctions& functions, OperandDecoder& operands,
                  AddressDecoder& addresses)
        : code_(code), functions_(functions), operands_(operands), addresses_(addresses) {}

    void decode(const ptx::Instruction& i);

  private:
    std::shared_ptr<const MatrixLayout> layout(const ptx::Instruction& i);
    void take_immediates(MatrixOperation& op, const std::vector<std::int64_t>& given);

    CodeBuilder& code_;
    const DecodedFunctions& functions_;
    OperandDecoder& operands_;
    AddressDecoder& addresses_;
    std::map<std::pair<std::uint16_t, ptx::Bits>, std::shared_ptr<const MatrixLayout>> layouts_;
};

}  // namespace cupola::cpu::interpreter
