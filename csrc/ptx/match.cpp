// csrc/ptx/match.cpp - from an opcode to rows of the table.
#include "ptx/match.hpp"

#include <unordered_map>

namespace cupola::ptx {
namespace {

std::string_view first_word(std::string_view text) { return text.substr(0, text.find('.')); }

const std::unordered_map<std::string_view, std::vector<FormId>>& rows_by_word() {
    static const auto map = [] {
        std::unordered_map<std::string_view, std::vector<FormId>> built;
        for (unsigned c = 0; c < sizeof(chapters) / sizeof(chapters[0]); ++c)
            for (unsigned r = 0; r < chapters[c].count; ++r)
                built[first_word(chapters[c].rows[r].mnemonic)].push_back(FormId(c, r));
        return built;
    }();
    return map;
}

// Takes `word` off the front of `rest` where it stands there as whole dotted parts.
bool take(std::string_view& rest, std::string_view word) {
    if (rest.size() < word.size() + 1 || rest[0] != '.' || rest.substr(1, word.size()) != word)
        return false;
    if (rest.size() > word.size() + 1 && rest[word.size() + 1] != '.') return false;
    rest.remove_prefix(word.size() + 1);
    return true;
}

bool take_axis(std::string_view& rest, const Axis& axis, Bits& bits) {
    // Of two places for the same thing one is used.
    if (axis.optional && axis.field.get(bits) != 0) return true;
    for (unsigned i = 0; i < axis.count; ++i)
        if (take(rest, axis.choices[i].text)) {
            bits |= axis.field.put(axis.choices[i].value);
            return true;
        }
    return axis.optional;
}

bool take_type(std::string_view& rest, const Types& types, Type& type) {
    if (types.count == 0) return true;
    if (rest.empty()) return false;
    const Type named = type_named(first_word(rest.substr(1)));
    for (unsigned i = 0; i < types.count; ++i)
        if (types.list[i] == named && take(rest, name_of(named))) {
            type = named;
            return true;
        }
    return false;
}

bool fits(std::string_view opcode, FormId id, Candidate& found) {
    const Form& form = id.form();
    if (opcode.substr(0, form.mnemonic.size()) != form.mnemonic) return false;
    std::string_view rest = opcode.substr(form.mnemonic.size());
    if (!rest.empty() && rest[0] != '.') return false;
    found = Candidate{};
    found.form = id;
    for (unsigned i = 0; i < form.axes.count; ++i)
        if (!form.axes.list[i]->trailing && !take_axis(rest, *form.axes.list[i], found.modifiers))
            return false;
    if (!take_type(rest, form.types, found.type) || !take_type(rest, form.types2, found.type2))
        return false;
    for (unsigned i = 0; i < form.axes.count; ++i)
        if (form.axes.list[i]->trailing && !take_axis(rest, *form.axes.list[i], found.modifiers))
            return false;
    // Some write .ftz, .sat or .relu behind the types.
    for (unsigned i = 0; i < form.axes.count && !rest.empty(); ++i) {
        const Axis& axis = *form.axes.list[i];
        if (axis.optional && axis.fixed && axis.count == 1 && axis.field.width == 1 &&
            axis.field.get(found.modifiers) == 0)
            take_axis(rest, axis, found.modifiers);
    }
    return rest.empty();
}

// Assemblers take modifiers in any order, of which code generators make use:
// "atom.gpu.acq_rel.add". Where words that are alike stand for different operands, they have one.
bool has_an_order(FormId id) {
    const auto chapter = static_cast<ChapterId>(id.chapter());
    return chapter == ChapterId::matrix || chapter == ChapterId::async ||
           chapter == ChapterId::video || chapter == ChapterId::texture;
}

bool fits_disordered(std::string_view opcode, FormId id, Candidate& found) {
    const Form& form = id.form();
    if (has_an_order(id) || opcode.substr(0, form.mnemonic.size()) != form.mnemonic) return false;
    std::string_view rest = opcode.substr(form.mnemonic.size());
    found = Candidate{};
    found.form = id;
    bool taken[sizeof(Axes::list) / sizeof(Axes::list[0])] = {};
    while (!rest.empty()) {
        const std::size_t left = rest.size();
        for (unsigned i = 0; i < form.axes.count && rest.size() == left; ++i) {
            if (taken[i]) continue;
            take_axis(rest, *form.axes.list[i], found.modifiers);
            taken[i] = rest.size() != left;
        }
        if (rest.size() == left) {
            const bool second = form.types.count == 0 || found.type != Type::none;
            Type& type = second ? found.type2 : found.type;
            if (type == Type::none) take_type(rest, second ? form.types2 : form.types, type);
        }
        if (rest.size() == left) return false;
    }
    for (unsigned i = 0; i < form.axes.count; ++i)
        if (!taken[i] && !form.axes.list[i]->optional) return false;
    return (form.types.count == 0 || found.type != Type::none) &&
           (form.types2.count == 0 || found.type2 != Type::none);
}

}  // namespace

std::vector<Candidate> match(std::string_view opcode) {
    std::vector<Candidate> found;
    const auto& rows = rows_by_word();
    const auto at = rows.find(first_word(opcode));
    if (at == rows.end()) return found;
    Candidate candidate;
    for (const FormId id : at->second)
        if (fits(opcode, id, candidate)) found.push_back(candidate);
    if (!found.empty()) return found;
    for (const FormId id : at->second)
        if (fits_disordered(opcode, id, candidate)) found.push_back(candidate);
    return found;
}

bool is_mnemonic(std::string_view word) { return rows_by_word().count(word) != 0; }

}  // namespace cupola::ptx
