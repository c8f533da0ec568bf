// csrc/ptx/target_check.cpp - the targets that modifiers need. Those of rows are in table/*.inc.
// tests/ptx/test_targets.py compares both with NVIDIA's assembler.
#include "ptx/target_check.hpp"

namespace cupola::ptx {
namespace {

// The beginning of the opcode (empty for all instructions), a modifier, its targets, and another
// word of the opcode that the row is about.
struct ModifierTargets {
    std::string_view beginning, word;
    Targets targets;
    std::string_view with = {};
};
constexpr ModifierTargets modifier_targets[] = {
    {"", "cluster", words::sm_90},
    {"", "shared::cluster", words::sm_90},
    {"", "L2::cache_hint", words::sm_80},
    {"", "L2::256B", words::sm_80},
    {"prefetch", "L2::evict_last", words::sm_80},
    {"prefetch", "L2::evict_normal", words::sm_80},
    {"fence", "acquire", words::sm_90},
    {"fence", "release", words::sm_90},
    {"fence.proxy", "async", words::sm_90},
    {"mbarrier", "relaxed", words::sm_90},
    {"min", "NaN", words::sm_80},
    {"max", "NaN", words::sm_80},
    {"min", "xorsign", words::sm_86},
    {"max", "xorsign", words::sm_86},
    {"min", "relu", words::sm_90, "s32"},
    {"max", "relu", words::sm_90, "s32"},
    {"min", "relu", words::sm_90, "s16x2"},
    {"max", "relu", words::sm_90, "s16x2"},
    {"tanh", "bf16", words::sm_90},
    {"tanh", "bf16x2", words::sm_90},
    {"cvt", "ftz", words::sm_90, "bf16"},
    {"cvt", "f16", words::sm_90, "bf16"},
    {"atom", "bf16", words::sm_90},
    {"atom", "bf16x2", words::sm_90},
    {"red", "bf16", words::sm_90},
    {"red", "bf16x2", words::sm_90},
};

// No modifier needs a newer target, so most texts skip the list.
constexpr int newest_target = 90;
constexpr bool none_is_newer() {
    for (const ModifierTargets& row : modifier_targets)
        if (row.targets.least > newest_target) return false;
    return true;
}
static_assert(none_is_newer(), "newest_target is the highest of the list");

std::string needs(std::string_view what, const Targets& targets, Target target) {
    return std::string(what) + " needs target " + targets.name() + "; .target is " +
           name_of(target);
}

// ld and st have 32 bytes in global memory alone.
std::string check_width(const Candidate& candidate, Target target) {
    const Opcode opcode = candidate.form.opcode();
    if (opcode != Opcode::ld && opcode != Opcode::st) return {};
    const unsigned count = field::vector.get(candidate.modifiers);
    if (count * bytes_of(candidate.type) <= 16) return {};
    const bool whole = (count == 8 && bytes_of(candidate.type) == 4) ||
                       (count == 4 && bytes_of(candidate.type) == 8);
    if (!whole) return "a vector has more than 16 bytes; expected .v8 of 32 bits or .v4 of 64";
    const auto space = static_cast<Space>(field::space.get(candidate.modifiers));
    if (space != Space::generic && space != Space::global)
        return "only accesses of global memory have 32 bytes";
    return words::sm_100.contains(target) ? ""
                                          : needs("a vector of 32 bytes", words::sm_100, target);
}

// mmio: one element in global or generic memory, for the whole system.
std::string check_mmio(const Candidate& candidate, std::string_view opcode) {
    const Opcode of = candidate.form.opcode();
    if ((of != Opcode::ld && of != Opcode::st) || !has_word(opcode, "mmio")) return {};
    const auto space = static_cast<Space>(field::space.get(candidate.modifiers));
    if (space != Space::generic && space != Space::global) return ".mmio needs global memory";
    if (field::vector.get(candidate.modifiers) != 0) return ".mmio accesses no vectors";
    const auto scope = static_cast<Scope>(field::scope.get(candidate.modifiers));
    return scope == Scope::sys ? "" : ".mmio needs .sys";
}

}  // namespace

std::string check_target(const Candidate& candidate, std::string_view opcode, Target target) {
    const Targets& targets = candidate.form.form().targets;
    if (!targets.contains(target)) return needs("this form", targets, target);
    if (const std::string wrong = check_mmio(candidate, opcode); !wrong.empty()) return wrong;
    if (target.number >= newest_target) return check_width(candidate, target);
    for (const ModifierTargets& row : modifier_targets)
        if (opcode.substr(0, row.beginning.size()) == row.beginning &&
            !row.targets.contains(target) && has_word(opcode, row.word) &&
            (row.with.empty() || has_word(opcode, row.with)))
            return needs("." + std::string(row.word), row.targets, target);
    return check_width(candidate, target);
}

}  // namespace cupola::ptx
