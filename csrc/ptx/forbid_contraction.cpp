// csrc/ptx/forbid_contraction.cpp - puts a rounding modifier into products. Text is untrusted.
#include <algorithm>
#include <unordered_map>

#include "ptx/contract_fma.hpp"
#include "ptx/contract_role.hpp"
#include "ptx/lexer.hpp"
#include "ptx/match.hpp"

namespace cupola::ptx {

std::string forbid_contraction(std::string_view source) {
    constexpr std::string_view word = "mul", rounded = ".rn";
    const auto is_open_product = [](std::string_view opcode) {
        const auto rows = match(opcode);
        return std::any_of(rows.begin(), rows.end(), [](const Candidate& c) {
            Instruction i;
            i.form = c.form;
            i.modifiers = c.modifiers;
            return contract_role(i) == ContractRole::product && field::round.get(i.modifiers) == 0;
        });
    };
    std::unordered_map<std::string_view, bool> known;
    std::string text;
    const char* from = source.data();
    for (const Token& token : lex(source)) {
        if (token.kind != Token::Kind::word || token.text.substr(0, word.size() + 1) != "mul.")
            continue;
        const auto [at, fresh] = known.emplace(token.text, false);
        if (fresh) at->second = is_open_product(token.text);
        if (!at->second) continue;
        const char* to = token.text.data() + word.size();
        text.append(from, to).append(rounded);
        from = to;
    }
    return text.append(from, source.data() + source.size());
}

}  // namespace cupola::ptx
