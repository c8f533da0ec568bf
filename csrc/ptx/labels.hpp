// csrc/ptx/labels.hpp - the labels of a function. They are resolved at its end.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ptx/program.hpp"
#include "ptx/scopes.hpp"
#include "ptx/token_stream.hpp"

namespace cupola::ptx {

class Labels {
  public:
    Labels(const TokenStream& tokens, Scopes& scopes) : tokens_(tokens), scopes_(scopes) {}

    // A function begins.
    void clear() { references_.clear(); }
    void define(Function& f, const Token& name);
    // A number that stands for the label until `resolve`.
    std::uint32_t reference(std::string_view name, std::uint32_t line);
    void resolve(Function& f) const;

  private:
    struct Reference {
        std::string_view name;
        std::uint32_t scope, line;
    };

    const TokenStream& tokens_;
    Scopes& scopes_;
    std::vector<Reference> references_;
};

}  // namespace cupola::ptx
