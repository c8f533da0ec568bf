// csrc/ptx/initialiser.hpp - the initialisers of variables.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ptx/program.hpp"
#include "ptx/scopes.hpp"
#include "ptx/token_stream.hpp"

namespace cupola::ptx {

// Bytes that a variable has at most.
constexpr std::uint64_t largest_variable = std::uint64_t{1} << 40;

// A variable as the text declares it.
struct Declared {
    Variable variable;
    std::string_view name;
    unsigned vector = 1;
    std::vector<std::uint64_t> dims;
    bool range = false;  // name<count>: the variables name0, name1, ...
    std::uint64_t count = 0;
};

class Initialiser {
  public:
    Initialiser(TokenStream& tokens, const Scopes& scopes, Module& module)
        : tokens_(tokens), scopes_(scopes), module_(module) {}

    // Reads the initialiser of a variable, from its '='.
    void read(Declared& d);

  private:
    std::uint64_t read_level(Declared& d, std::size_t depth, std::uint64_t from);
    void read_one(Declared& d, std::uint64_t at);
    void read_address(Declared& d, std::uint64_t at);
    void resize_open(Declared& d, std::uint64_t rows, const Token& at) const;
    void skip_properties();
    void skip_properties_of(const Declared& d, std::size_t depth);

    TokenStream& tokens_;
    const Scopes& scopes_;
    Module& module_;
};

}  // namespace cupola::ptx
