// csrc/ptx/operand_list.hpp - parses the operands of an instruction and resolves the names in them.
#pragma once

#include <vector>

#include "ptx/labels.hpp"
#include "ptx/operand_sums.hpp"
#include "ptx/program.hpp"
#include "ptx/registers.hpp"
#include "ptx/scopes.hpp"
#include "ptx/token_stream.hpp"

namespace cupola::ptx {

class OperandList {
  public:
    OperandList(TokenStream& tokens, Scopes& scopes, Module& module, Registers& registers,
                OperandSums& sums, Labels& labels)
        : tokens_(tokens),
          scopes_(scopes),
          module_(module),
          registers_(registers),
          sums_(sums),
          labels_(labels) {}

    // Reads operands up to the semicolon.
    void read(Function& f);
    std::vector<Operand>& operands() { return operands_; }

  private:
    Operand operand(Function& f);
    Operand primary(Function& f);
    Operand named(Function& f, const Token& token);
    Operand vector_operand(Function& f);
    Operand memory_operand(Function& f);
    void texel_operand(Function& f, Operand& o, const Token& start);
    Operand number_operand(Function& f);

    TokenStream& tokens_;
    Scopes& scopes_;
    Module& module_;
    Registers& registers_;
    OperandSums& sums_;
    Labels& labels_;
    std::vector<Operand> operands_;
};

}  // namespace cupola::ptx
