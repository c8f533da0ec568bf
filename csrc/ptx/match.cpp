// csrc/ptx/match.cpp - finds the rows of the table that an opcode matches.
#include "ptx/match.hpp"

#include <algorithm>
#include <initializer_list>
#include <unordered_map>
#include <utility>

namespace cupola::ptx {
namespace {

std::string_view first_word(std::string_view text) { return text.substr(0, text.find('.')); }

const std::unordered_map<std::string_view, std::vector<FormId>>& rows_by_word() {
    static const auto map = [] {
        std::unordered_map<std::string_view, std::vector<FormId>> built;
        for (unsigned c = 0; c < sizeof(instruction_groups) / sizeof(instruction_groups[0]); ++c)
            for (unsigned r = 0; r < instruction_groups[c].count; ++r)
                built[first_word(instruction_groups[c].rows[r].mnemonic)].push_back(FormId(c, r));
        return built;
    }();
    return map;
}

// Removes `word` from the front of `rest` if it is there as whole dotted parts.
bool take(std::string_view& rest, std::string_view word) {
    if (rest.size() < word.size() + 1 || rest[0] != '.' || rest.substr(1, word.size()) != word)
        return false;
    if (rest.size() > word.size() + 1 && rest[word.size() + 1] != '.') return false;
    rest.remove_prefix(word.size() + 1);
    return true;
}

bool take_slot(std::string_view& rest, const ModifierSlot& slot, Bits& bits) {
    // A row may list one field in two slots; only one of them is used.
    if (slot.optional && slot.field.get(bits) != 0) return true;
    for (unsigned i = 0; i < slot.count; ++i)
        if (take(rest, slot.choices[i].text)) {
            bits |= slot.field.put(slot.choices[i].value);
            return true;
        }
    return slot.optional;
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
    for (unsigned i = 0; i < form.slots.count; ++i)
        if (!form.slots.list[i]->trailing && !take_slot(rest, *form.slots.list[i], found.modifiers))
            return false;
    if (!take_type(rest, form.types, found.type) || !take_type(rest, form.types2, found.type2))
        return false;
    for (unsigned i = 0; i < form.slots.count; ++i)
        if (form.slots.list[i]->trailing && !take_slot(rest, *form.slots.list[i], found.modifiers))
            return false;
    // Some code generators write .ftz, .sat or .relu after the types.
    for (unsigned i = 0; i < form.slots.count && !rest.empty(); ++i) {
        const ModifierSlot& slot = *form.slots.list[i];
        if (slot.optional && slot.fixed && slot.count == 1 && slot.field.width == 1 &&
            slot.field.get(found.modifiers) == 0)
            take_slot(rest, slot, found.modifiers);
    }
    return rest.empty();
}

// Words whose order says which operand or property a word belongs to, in all instructions. ptxas
// takes all other words in any order, and code generators use that: "atom.gpu.acq_rel.add".
enum class WordKind : std::uint8_t { free, type, space, layout, operation };

WordKind kind_of(std::string_view word) {
    const auto is_one_of = [word](std::initializer_list<std::string_view> words) {
        return std::find(words.begin(), words.end(), word) != words.end();
    };
    if (type_named(word) != Type::none ||
        is_one_of({"u2", "s2", "u4", "s4", "b1", "e2m1", "e2m3", "e3m2", "ue8m0", "ue4m3", "b8x16",
                   "b6x16_p32", "b4x16_p64"}))
        return WordKind::type;
    if (is_one_of({"global", "shared", "shared::cta", "shared::cluster"})) return WordKind::space;
    if (is_one_of({"row", "col"})) return WordKind::layout;
    return is_one_of({"and", "xor", "popc"}) ? WordKind::operation : WordKind::free;
}

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    while (!text.empty()) {
        words.push_back(first_word(text));
        text.remove_prefix(std::min(text.size(), words.back().size() + 1));
    }
    return words;
}

// The words behind an instruction's name that no slot has taken yet.
class LooseWords {
  public:
    explicit LooseWords(std::string_view text) : words_(words_of(text)) {}
    bool empty() const { return words_.empty(); }
    // Takes each word of `text`, if it is the first one of its kind.
    bool take(std::string_view text) { return take(text, words_); }
    // Takes the choice of the most words: one choice may be a part of another.
    bool take(const ModifierSlot& slot, Bits& bits) {
        if (slot.optional && slot.field.get(bits) != 0) return true;
        std::vector<std::string_view> fewest = words_;
        unsigned value = 0;
        for (unsigned i = 0; i < slot.count; ++i) {
            std::vector<std::string_view> left = words_;
            if (!take(slot.choices[i].text, left) || left.size() >= fewest.size()) continue;
            fewest = std::move(left);
            value = slot.choices[i].value;
        }
        const bool taken = fewest.size() != words_.size();
        if (taken) bits |= slot.field.put(value);
        words_ = std::move(fewest);
        return taken || slot.optional;
    }
    bool take(const Types& types, Type& type) {
        for (unsigned i = 0; i < types.count; ++i)
            if (take(name_of(types.list[i]))) {
                type = types.list[i];
                return true;
            }
        return types.count == 0;
    }

  private:
    static bool take(std::string_view text, std::vector<std::string_view>& from) {
        std::vector<std::string_view> left = from;
        for (const std::string_view word : words_of(text)) {
            const WordKind kind = kind_of(word);
            const auto at = std::find_if(left.begin(), left.end(), [&](std::string_view each) {
                return kind == WordKind::free ? each == word : kind_of(each) == kind;
            });
            if (at == left.end() || *at != word) return false;
            left.erase(at);
        }
        from = std::move(left);
        return true;
    }

    std::vector<std::string_view> words_;
};

bool fits_disordered(std::string_view opcode, FormId id, Candidate& found) {
    constexpr std::string_view of_warp = ".sync.aligned";
    const Form& form = id.form();
    std::string_view name = form.mnemonic, fixed;
    if (name.size() > of_warp.size() && name.substr(name.size() - of_warp.size()) == of_warp) {
        name.remove_suffix(of_warp.size());
        fixed = of_warp.substr(1);
    }
    if (opcode.substr(0, name.size()) != name || opcode.substr(name.size(), 1) != ".") return false;
    found = Candidate{};
    found.form = id;
    std::string_view rest = opcode.substr(name.size());
    // The half that mul.lo and mad.hi return belongs to their names.
    const bool has_half = form.slots.count != 0 && form.slots.list[0] == &words::low_high;
    if (has_half && !take_slot(rest, words::low_high, found.modifiers)) return false;
    LooseWords loose(rest.substr(std::min<std::size_t>(1, rest.size())));
    if (!loose.take(fixed)) return false;
    for (const bool trailing : {false, true}) {
        if (trailing &&
            !(loose.take(form.types, found.type) && loose.take(form.types2, found.type2)))
            return false;
        for (unsigned i = has_half; i < form.slots.count; ++i)
            if (form.slots.list[i]->trailing == trailing &&
                !loose.take(*form.slots.list[i], found.modifiers))
                return false;
    }
    return loose.empty();
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

bool has_word(std::string_view opcode, std::string_view word) {
    for (std::size_t at = 0; (at = opcode.find(word, at)) != std::string_view::npos; ++at) {
        const std::size_t end = at + word.size();
        if (at && opcode[at - 1] == '.' && (end == opcode.size() || opcode[end] == '.'))
            return true;
    }
    return false;
}

}  // namespace cupola::ptx
