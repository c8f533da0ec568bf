// csrc/cpu/compiler/semantics.hpp - the text of the instructions' semantics, as this library has
// them.
#pragma once

#include <string_view>

namespace cupola::cpu::compiler {

// printed.hpp with all that it includes, as one text: what printed kernels begin with.
std::string_view semantics();
// A hash of that text, made when the library was built: its last line.
std::string_view semantics_hash();

}  // namespace cupola::cpu::compiler
