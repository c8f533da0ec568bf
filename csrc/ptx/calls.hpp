// csrc/ptx/calls.hpp - direct and indirect calls, prototypes and targets of indirect calls.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/inserted_code.hpp"
#include "ptx/parameters.hpp"
#include "ptx/program.hpp"
#include "ptx/scopes.hpp"
#include "ptx/token_stream.hpp"

namespace cupola::ptx {

class Calls {
  public:
    Calls(TokenStream& tokens, Scopes& scopes, Module& module, Parameters& parameters,
          InsertedCode& code)
        : tokens_(tokens), scopes_(scopes), module_(module), parameters_(parameters), code_(code) {}

    // A function begins.
    void clear() { prototypes_.clear(); }
    // Direct: call [(result, ...),] function [, (arguments)]. Indirect, through the address in a
    // register: call [(result, ...),] register, [(arguments),] prototype, targets or table.
    void read_call(Function& f, Instruction& i);
    // name: .callprototype [(.param ... _)] _ [(.param ... _, ...)] [.noreturn];
    void read_prototype(std::string_view name);
    // name: .calltargets function, ...;
    void read_targets(std::string_view name);
    // The module ends. An open array parameter gets the size of the longest argument that any call
    // in the module passes to an open array. The variables after it in the frame move.
    void place_open_formals();

  private:
    struct Actual {
        const Token* token;
        Operand operand;               // a register, a whole vector, a constant, or _
        std::uint32_t frame = absent;  // otherwise a .param variable
    };
    struct Callee {  // the parameters that a call's arguments must match
        std::string what;
        std::vector<const Variable*> results, formals;
    };
    struct Prototype {
        std::vector<Variable> results, formals;
    };
    std::vector<Actual> actuals(Function& f);
    Actual actual(Function& f);
    Callee callee(std::uint32_t function, const Token& start) const;
    Callee indirect_callee(Call& c, const Token& start);
    std::vector<std::uint32_t> pass(Function& f, const Instruction& i,
                                    const std::vector<Actual>& given,
                                    const std::vector<const Variable*>& wanted,
                                    const std::string& what, bool stores);
    std::uint32_t add_empty(Function& f, const Variable& formal);
    void check_actual(const Function& f, const Actual& a, const Variable& formal,
                      const std::string& what) const;
    std::uint32_t add_targets(std::vector<std::uint32_t> functions, const Token& start);
    std::uint32_t targets_of(std::uint32_t variable, const Token& at);

    TokenStream& tokens_;
    Scopes& scopes_;
    Module& module_;
    Parameters& parameters_;
    InsertedCode& code_;
    std::vector<Prototype> prototypes_;  // prototypes that the current function declares
    std::unordered_map<std::uint32_t, std::uint32_t> tables_;  // Module::targets, by variable
    // Bytes of the longest argument that a call passes to a parameter array without a size.
    std::uint64_t open_bytes_ = 0;
};

}  // namespace cupola::ptx
