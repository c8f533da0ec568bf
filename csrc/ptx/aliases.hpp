// csrc/ptx/aliases.hpp - aliases of functions.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "ptx/program.hpp"
#include "ptx/scopes.hpp"
#include "ptx/token_stream.hpp"

namespace cupola::ptx {

class Aliases {
  public:
    Aliases(TokenStream& tokens, const Scopes& scopes, Module& module)
        : tokens_(tokens), scopes_(scopes), module_(module) {}

    // .alias name, function: both must be declared, and only the function may be defined.
    void read();
    // Replaces aliases by their functions; later stages do not see aliases.
    void resolve();

  private:
    TokenStream& tokens_;
    const Scopes& scopes_;
    Module& module_;
    std::unordered_map<std::uint32_t, std::uint32_t> functions_;  // by the index of its alias
};

}  // namespace cupola::ptx
