// csrc/ptx/table.cpp - checks at compile time that rows have the right opcodes.
#include "ptx/table.hpp"

#include <iterator>
#include <string_view>

namespace cupola::ptx {
namespace {

constexpr bool are_sorted() {
    for (std::size_t n = 1; n < std::size(opcodes); ++n)
        if (__builtin_strcmp(opcodes[n - 1].mnemonic, opcodes[n].mnemonic) >= 0) return false;
    return true;
}

constexpr bool all_have_rows() {
    bool seen[std::size(opcodes)] = {};
    for (const InstructionGroup& group : instruction_groups)
        for (std::size_t row = 0; row < group.count; ++row)
            if (const unsigned found = find_opcode(group.rows[row].mnemonic.data());
                found < opcode_count)
                seen[found] = true;
    for (const bool each : seen)
        if (!each) return false;
    return true;
}

constexpr bool begins_with(std::string_view mnemonic, std::string_view words) {
    return mnemonic.substr(0, words.size()) == words &&
           (mnemonic.size() == words.size() || mnemonic[words.size()] == '.');
}

// Rows whose mnemonic begins with one of these words behave alike, so a new row of the kind needs
// an opcode, too.
constexpr std::string_view families[] = {
    "bar",        "barrier", "cp.reduce", "fence",
    "ld",         "ldu",     "match",     "mbarrier",
    "membar",     "mov",     "prefetch",  "prefetchu",
    "setmaxnreg", "shfl",    "st",        "tensormap.replace",
    "vote",
};
constexpr bool is_in_family(std::string_view mnemonic) {
    for (const std::string_view family : families)
        if (begins_with(mnemonic, family)) return true;
    return false;
}
constexpr bool families_have_opcodes() {
    for (const InstructionGroup& group : instruction_groups)
        for (std::size_t row = 0; row < group.count; ++row) {
            const Form& form = group.rows[row];
            if (form.opcode == Opcode::other && is_in_family(form.mnemonic)) return false;
        }
    return true;
}

constexpr bool video_has_opcodes() {
    for (const Form& form : table::video) {
        const char last = form.mnemonic.back();
        const Opcode expected = last == '2'   ? Opcode::simd_video_2
                                : last == '4' ? Opcode::simd_video_4
                                              : Opcode::other;
        if (form.opcode != expected) return false;
    }
    return true;
}

static_assert(are_sorted(), "opcode_of() searches a sorted list");
static_assert(all_have_rows(), "no row has one of the mnemonics");
static_assert(families_have_opcodes(), "a row of a family has no opcode");
static_assert(video_has_opcodes(), "a SIMD video row has no opcode");

}  // namespace
}  // namespace cupola::ptx
