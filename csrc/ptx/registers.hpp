// csrc/ptx/registers.hpp - scalar and vector registers. A vector becomes adjacent registers; later
// stages see only scalars.
#pragma once

#include <cstdint>
#include <string_view>

#include "ptx/declarations.hpp"
#include "ptx/program.hpp"
#include "ptx/scopes.hpp"
#include "ptx/token_stream.hpp"

namespace cupola::ptx {

// A parameter in registers: they hold what callers write to a frame variable.
struct RegisterParameter {
    std::uint32_t frame, index;
    unsigned count;
};

Operand register_operand(const Function& f, std::uint32_t index);
Operand integer_operand(std::int64_t value);
// A whole vector is the same as its elements in braces.
Operand whole_vector(Function& f, const Symbol& s);
Operand new_register(Function& f, Type type);

class Registers {
  public:
    Registers(TokenStream& tokens, Scopes& scopes, Declarations& declarations)
        : tokens_(tokens), scopes_(scopes), declarations_(declarations) {}

    // Reads a declaration, after .reg.
    void read_declaration(Function& f);
    // .reg [.align n] [.v2 or .v4] .type name
    RegisterParameter read_parameter(Function& f);
    const Symbol& expect_register(Function& f, const char* what);
    // Resolves v.x or %tid.r; false if the name is not an element.
    bool vector_element(Function& f, const Token& token, Operand& o);

  private:
    RegisterType register_type();
    std::uint32_t add_register(Function& f, std::string_view name, const RegisterType& r,
                               const Token& at);

    TokenStream& tokens_;
    Scopes& scopes_;
    Declarations& declarations_;
};

}  // namespace cupola::ptx
