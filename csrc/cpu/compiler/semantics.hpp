// csrc/cpu/compiler/semantics.hpp - the text of the instructions' semantics, embedded in this
// library.
#pragma once

#include <string_view>

namespace cupola::cpu::compiler {

// emitted.hpp with everything that it includes, as one text. It precedes each emitted source.
std::string_view semantics();
// The hash of that text, which is its last line.
std::string_view semantics_hash();

}  // namespace cupola::cpu::compiler
