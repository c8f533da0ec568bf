// csrc/ptx/targets.hpp - targets of PTX, and sets of targets that have an instruction.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cupola::ptx {

// sm_90, sm_90a or sm_100f. Number 0: the text is no target.
struct Target {
    int number = 0;
    char variant = 0;  // 'a', 'f', or 0 without suffix
};

// Targets with a suffix that have an instruction before plain targets have it: bits of Targets.
enum class SuffixedTargets : std::uint16_t {
    none = 0,
    family_100 = 1,  // sm_100f, and each `f` and `a` target of its family
    family_110 = 2,
    family_120 = 4,
    exact_90 = 8,  // sm_90a alone
    exact_100 = 16,
    exact_103 = 32,
    exact_110 = 64,
    exact_120 = 128,
    exact_121 = 256,
    family_103 = 512,
};
constexpr SuffixedTargets operator|(SuffixedTargets a, SuffixedTargets b) {
    return static_cast<SuffixedTargets>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

// A set of targets: the plain targets from a number on, and some targets with a suffix.
struct Targets {
    static constexpr std::uint8_t no_plain_target = 255;

    std::uint8_t least = 0;  // sm_<least> and newer targets have it
    SuffixedTargets suffixed = SuffixedTargets::none;

    constexpr bool is_everything() const { return least == 0; }
    bool contains(Target target) const;
    std::string name() const;  // "sm_90a, sm_100f and sm_120f"
};

Target target_named(std::string_view text);
std::string name_of(Target target);

// The sets that rows of the table name.
namespace words {
inline constexpr Targets any_target{};
inline constexpr Targets sm_80{80}, sm_86{86}, sm_89{89}, sm_90{90}, sm_100{100};
constexpr Targets with_suffix(SuffixedTargets list) { return {Targets::no_plain_target, list}; }
inline constexpr Targets sm_90a = with_suffix(SuffixedTargets::exact_90);
inline constexpr Targets sm_100f = with_suffix(SuffixedTargets::family_100);
inline constexpr Targets sm_120f = with_suffix(SuffixedTargets::family_120);
inline constexpr Targets sm_100f_110f =
    with_suffix(SuffixedTargets::family_100 | SuffixedTargets::family_110);
inline constexpr Targets sm_103f_110f =
    with_suffix(SuffixedTargets::family_103 | SuffixedTargets::family_110);
inline constexpr Targets sm_100f_110f_120f = with_suffix(
    SuffixedTargets::family_100 | SuffixedTargets::family_110 | SuffixedTargets::family_120);
inline constexpr Targets sm_90a_100f_110f_120f =
    with_suffix(SuffixedTargets::exact_90 | sm_100f_110f_120f.suffixed);
inline constexpr Targets sm_100a_103a =
    with_suffix(SuffixedTargets::exact_100 | SuffixedTargets::exact_103);
inline constexpr Targets sm_100a_110a =
    with_suffix(SuffixedTargets::exact_100 | SuffixedTargets::exact_110);
inline constexpr Targets sm_100a_103a_110a = with_suffix(
    SuffixedTargets::exact_100 | SuffixedTargets::exact_103 | SuffixedTargets::exact_110);
inline constexpr Targets sm_100a_to_121a = with_suffix(
    SuffixedTargets::exact_100 | SuffixedTargets::exact_103 | SuffixedTargets::exact_110 |
    SuffixedTargets::exact_120 | SuffixedTargets::exact_121);
inline constexpr Targets sm_100f_110f_120a_121a =
    with_suffix(sm_100f_110f.suffixed | SuffixedTargets::exact_120 | SuffixedTargets::exact_121);
inline constexpr Targets sm_120a_121a =
    with_suffix(SuffixedTargets::exact_120 | SuffixedTargets::exact_121);
}  // namespace words

}  // namespace cupola::ptx
