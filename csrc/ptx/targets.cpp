// csrc/ptx/targets.cpp - the rules by which targets have instructions.
#include "ptx/targets.hpp"

namespace cupola::ptx {
namespace {

struct Suffixed {
    SuffixedTargets bit;
    int number;
    char variant;
};
constexpr Suffixed suffixed_targets[] = {
    {SuffixedTargets::exact_90, 90, 'a'},    {SuffixedTargets::exact_100, 100, 'a'},
    {SuffixedTargets::exact_103, 103, 'a'},  {SuffixedTargets::exact_110, 110, 'a'},
    {SuffixedTargets::exact_120, 120, 'a'},  {SuffixedTargets::exact_121, 121, 'a'},
    {SuffixedTargets::family_100, 100, 'f'}, {SuffixedTargets::family_110, 110, 'f'},
    {SuffixedTargets::family_120, 120, 'f'}, {SuffixedTargets::family_103, 103, 'f'},
};

// A family begins with the target of its name. PTX 9.0 renamed sm_101 to sm_110.
int renamed(int number) { return number == 101 ? 110 : number; }
bool is_of_family(int first, int number) { return number >= first && number / 10 == first / 10; }

bool has(SuffixedTargets set, SuffixedTargets bit) {
    return (static_cast<unsigned>(set) & static_cast<unsigned>(bit)) != 0;
}

}  // namespace

bool Targets::contains(Target target) const {
    if (target.number >= least) return true;
    if (!target.variant) return false;
    const int number = renamed(target.number);
    for (const Suffixed& each : suffixed_targets) {
        if (!has(suffixed, each.bit)) continue;
        if (each.variant == 'f' ? is_of_family(each.number, number)
                                : each.number == number && target.variant == 'a')
            return true;
    }
    return false;
}

std::string Targets::name() const {
    if (least != no_plain_target) return name_of({least, 0}) + " or newer";
    std::string list;
    for (const Suffixed& each : suffixed_targets)
        if (has(suffixed, each.bit))
            list += (list.empty() ? "" : ", ") + name_of({each.number, each.variant});
    return list;
}

Target target_named(std::string_view text) {
    Target found;
    if (text.substr(0, 3) != "sm_") return {};
    std::size_t at = 3;
    for (; at < text.size() && at < 7 && text[at] >= '0' && text[at] <= '9'; ++at)
        found.number = found.number * 10 + (text[at] - '0');
    if (found.number < 10 || at + 1 < text.size()) return {};
    if (at < text.size()) found.variant = text[at];
    return found;
}

std::string name_of(Target target) {
    return "sm_" + std::to_string(target.number) +
           (target.variant ? std::string(1, target.variant) : "");
}

}  // namespace cupola::ptx
