// csrc/ptx/match.cpp - finds the rows of the table that an opcode matches.
#include "ptx/match.hpp"

#include <unordered_map>

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

// Copies of tensors. Their rows join the two words whose order matters, as in "global.shared::cta".
bool copies_tensor(FormId id) {
    constexpr std::string_view last = ".tensor";
    const std::string_view name = id.form().mnemonic;
    return name.size() > last.size() && name.substr(name.size() - last.size()) == last;
}

// ldmatrix, stmatrix and movmatrix, whose words describe one operand.
bool moves_matrices(FormId id) {
    return id.form().mnemonic.find("matrix.") != std::string_view::npos;
}

// Whether the order of modifiers matters. ptxas accepts any order, and code generators use that:
// "atom.gpu.acq_rel.add". But the instructions of these four groups have equal words for different
// operands, and only the order tells which operand a word belongs to.
bool has_an_order(FormId id) {
    const auto group = static_cast<InstructionGroupId>(id.group());
    if (group == InstructionGroupId::async) return !copies_tensor(id);
    if (group == InstructionGroupId::matrix) return !moves_matrices(id);
    return group == InstructionGroupId::video || group == InstructionGroupId::texture;
}

bool fits_disordered(std::string_view opcode, FormId id, Candidate& found) {
    const Form& form = id.form();
    if (has_an_order(id) || opcode.substr(0, form.mnemonic.size()) != form.mnemonic) return false;
    std::string_view rest = opcode.substr(form.mnemonic.size());
    found = Candidate{};
    found.form = id;
    bool taken[sizeof(ModifierSlots::list) / sizeof(ModifierSlots::list[0])] = {};
    while (!rest.empty()) {
        const std::size_t left = rest.size();
        for (unsigned i = 0; i < form.slots.count && rest.size() == left; ++i) {
            if (taken[i]) continue;
            take_slot(rest, *form.slots.list[i], found.modifiers);
            taken[i] = rest.size() != left;
        }
        if (rest.size() == left) {
            const bool second = form.types.count == 0 || found.type != Type::none;
            Type& type = second ? found.type2 : found.type;
            if (type == Type::none) take_type(rest, second ? form.types2 : form.types, type);
        }
        if (rest.size() == left) return false;
    }
    for (unsigned i = 0; i < form.slots.count; ++i)
        if (!taken[i] && !form.slots.list[i]->optional) return false;
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

bool has_word(std::string_view opcode, std::string_view word) {
    for (std::size_t at = 0; (at = opcode.find(word, at)) != std::string_view::npos; ++at) {
        const std::size_t end = at + word.size();
        if (at && opcode[at - 1] == '.' && (end == opcode.size() || opcode[end] == '.'))
            return true;
    }
    return false;
}

}  // namespace cupola::ptx
