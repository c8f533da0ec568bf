// csrc/ptx/parameters.hpp - the parameters and results of functions and prototypes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ptx/declarations.hpp"
#include "ptx/program.hpp"
#include "ptx/registers.hpp"
#include "ptx/scopes.hpp"
#include "ptx/token_stream.hpp"

namespace cupola::ptx {

// A parameter's space, alignment, type and size, as a declaration spells them.
std::string written(const Variable& v);
// Whether the parameters and results of functions have the same layout.
bool alike(const Function& a, const Function& b);

class Parameters {
  public:
    Parameters(TokenStream& tokens, Scopes& scopes, Declarations& declarations,
               Registers& registers)
        : tokens_(tokens), scopes_(scopes), declarations_(declarations), registers_(registers) {}

    // Reads parameters in parentheses into a list of f, and adds those in registers.
    void read(Function& f, std::vector<std::uint32_t>& list, bool entry,
              std::vector<RegisterParameter>& registers);
    // Reads the parameters or the results of a prototype.
    std::vector<Variable> read_prototype(bool results);

  private:
    std::uint32_t read_one(Function& f, bool entry, std::vector<RegisterParameter>& registers);

    TokenStream& tokens_;
    Scopes& scopes_;
    Declarations& declarations_;
    Registers& registers_;
};

}  // namespace cupola::ptx
