// csrc/ptx/constant.hpp - evaluates constant expressions of literals and operators.
#pragma once

#include <cstdint>

#include "ptx/program.hpp"
#include "ptx/token_stream.hpp"

namespace cupola::ptx {

// The value of a constant expression: the bits of a 64-bit integer, an f64 or an f32.
struct Constant {
    Token::Kind kind = Token::Kind::integer;
    std::uint64_t bits = 0;
    bool is_unsigned = false;  // only for an integer
};

// Whether a constant expression begins `ahead` tokens after the current token.
bool at_constant(const TokenStream& tokens, std::size_t ahead = 0);
// The following functions read an expression. In messages, `what` names the expression.
Constant constant(TokenStream& tokens);
std::int64_t constant_integer(TokenStream& tokens, const char* what);
Operand constant_operand(TokenStream& tokens);
// Reads a literal without a sign, or WARP_SZ.
std::uint64_t constant_unsigned(TokenStream& tokens, const char* what);

}  // namespace cupola::ptx
