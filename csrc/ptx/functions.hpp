// csrc/ptx/functions.hpp - kernels and functions: their heads, and their bodies.
#pragma once

#include <cstdint>

#include "ptx/declarations.hpp"
#include "ptx/function_body.hpp"
#include "ptx/parameters.hpp"
#include "ptx/program.hpp"
#include "ptx/scopes.hpp"
#include "ptx/token_stream.hpp"

namespace cupola::ptx {

class Functions {
  public:
    Functions(TokenStream& tokens, Scopes& scopes, Module& module, Parameters& parameters,
              Calls& calls, FunctionBody& body)
        : tokens_(tokens),
          scopes_(scopes),
          module_(module),
          parameters_(parameters),
          calls_(calls),
          body_(body) {}

    // Reads a declaration or a definition, after .entry or .func.
    void read(const Prefix& prefix, bool entry);

  private:
    void head_directives(Function& f);
    void dimensions(std::uint32_t (&out)[3]);
    std::uint32_t declare_function(Function& f, const Token& name);
    void check_declaration(const Function& f, const Function& before, const Token& at) const;

    TokenStream& tokens_;
    Scopes& scopes_;
    Module& module_;
    Parameters& parameters_;
    Calls& calls_;
    FunctionBody& body_;
};

}  // namespace cupola::ptx
