// csrc/cpu/compiler/semantics.cpp - embeds the text of the semantics in the library.
#include "cpu/compiler/semantics.hpp"

// The file that gather_headers() of csrc/recipe.py writes.
__asm__(
    ".pushsection .rodata\n"
    "cupola_semantics_begin:\n"
    ".incbin \"" CUPOLA_SEMANTICS
    "\"\n"
    "cupola_semantics_end:\n"
    ".popsection\n");

extern "C" {
__attribute__((visibility("hidden"))) extern const char cupola_semantics_begin[];
__attribute__((visibility("hidden"))) extern const char cupola_semantics_end[];
}

namespace cupola::cpu::compiler {

std::string_view semantics() {
    return {cupola_semantics_begin,
            static_cast<std::size_t>(cupola_semantics_end - cupola_semantics_begin)};
}

std::string_view semantics_hash() {
    constexpr std::size_t digits = 64;
    const std::string_view all = semantics();
    return all.substr(all.size() - digits - 1, digits);
}

}  // namespace cupola::cpu::compiler
