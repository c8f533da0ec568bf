// csrc/ptx/function_body.hpp - parses the statements of a function.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ptx/calls.hpp"
#include "ptx/declarations.hpp"
#include "ptx/inserted_code.hpp"
#include "ptx/labels.hpp"
#include "ptx/operand_list.hpp"
#include "ptx/operand_sums.hpp"
#include "ptx/program.hpp"
#include "ptx/registers.hpp"
#include "ptx/scopes.hpp"
#include "ptx/token_stream.hpp"

namespace cupola::ptx {

class FunctionBody {
  public:
    FunctionBody(TokenStream& tokens, Scopes& scopes, Module& module, Declarations& declarations,
                 Registers& registers, InsertedCode& code, Calls& calls)
        : tokens_(tokens),
          scopes_(scopes),
          module_(module),
          declarations_(declarations),
          registers_(registers),
          code_(code),
          calls_(calls),
          labels_(tokens, scopes),
          sums_(tokens, module, registers),
          operands_(tokens, scopes, module, registers, sums_, labels_) {}

    // Reads the body of f, whose parameters and results in registers these are.
    void read(Function& f, const std::vector<RegisterParameter>& formals,
              const std::vector<RegisterParameter>& results);

  private:
    // The function that is read, and its results in registers.
    struct Current {
        Function& f;
        const std::vector<RegisterParameter>& results;
    };
    void statement(const Current& current);
    void branch_targets(Function& f, std::string_view name);
    void instruction(const Current& current);
    bool add_instruction(const Current& current, Instruction& i, std::string_view opcode,
                         const std::vector<Candidate>& candidates, std::string& wrong);
    void store_results(const Current& current, const Instruction& like);

    TokenStream& tokens_;
    Scopes& scopes_;
    Module& module_;
    Declarations& declarations_;
    Registers& registers_;
    InsertedCode& code_;
    Calls& calls_;
    Labels labels_;
    OperandSums sums_;
    OperandList operands_;
};

}  // namespace cupola::ptx
