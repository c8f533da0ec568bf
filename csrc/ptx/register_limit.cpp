// csrc/ptx/register_limit.cpp - inserts .maxnreg before the bodies of kernels. Text is untrusted.
#include "ptx/register_limit.hpp"

#include "ptx/error.hpp"
#include "ptx/lexer.hpp"

namespace cupola::ptx {

std::string limit_registers(std::string_view source, unsigned registers) {
    const auto tokens = lex(source);
    const std::string directive = " .maxnreg " + std::to_string(registers) + " ";
    std::string limited;
    const char* from = source.data();
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (tokens[i].text != ".entry") continue;
        bool has_own = false;
        for (++i; i < tokens.size() && tokens[i].text != "{" && tokens[i].text != ";"; ++i)
            has_own = has_own || tokens[i].text == ".maxnreg";
        if (i == tokens.size() || tokens[i].text != "{" || has_own) continue;
        limited.append(from, tokens[i].text.data());
        limited += directive;
        from = tokens[i].text.data();
    }
    return limited.append(from, source.data() + source.size());
}

}  // namespace cupola::ptx
