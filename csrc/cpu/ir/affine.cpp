// csrc/cpu/ir/affine.cpp - which registers rise by a constant from lane to lane, as addresses of
// neighbouring elements do.
//
// A block's x coordinates are consecutive in each half of a warp, whatever shape the block has that
// programs use, and its y coordinates are the same. A value computed from these by additions and
// multiplications has a *line*: the value of lane 0, that of lane 16, and the step between lanes.
// So has one that is computed by / and %, as of flat indices, where no multiple of the divisor lies
// between the lanes. Machine code computes lines as scalars beside the vectors. It tests whether a
// line holds when it runs, so that this analysis need only be likely.
#include <algorithm>
#include <numeric>
#include <set>

#include "cpu/ir/kernel_analysis.hpp"

namespace cupola::cpu::compiler {

using namespace interpreter;

namespace {

// Beyond this no access is of neighbours.
constexpr std::int64_t most = 1 << 12;

bool is_whole(ptx::Type t) {
    return ptx::is_integer(t) || t == ptx::Type::b16 || t == ptx::Type::b32 || t == ptx::Type::b64;
}

enum class Rule : std::uint8_t {
    none,
    copy,
    sum,
    difference,
    product,
    product_sum,
    shift,
    quotient,   // falls or rises with its first source, more slowly: by 0 nearly everywhere
    remainder,  // rises as its first source does, but for a few places
    clamp,
    bit_and,
    bit_or,
};

Rule rule_of(const interpreter::Origin& origin) {
    const std::string_view m = origin.form.form().mnemonic;
    const bool low =
        static_cast<ptx::Part>(ptx::field::part.get(origin.key.modifiers)) != ptx::Part::hi;
    if (ptx::field::sat.get(origin.key.modifiers) != 0) return Rule::none;
    if (m == "mov") return Rule::copy;
    if (m == "cvt") return is_whole(origin.key.type2) ? Rule::copy : Rule::none;
    if (m == "add") return Rule::sum;
    if (m == "sub") return Rule::difference;
    if (m == "mul.wide" || (m == "mul" && low)) return Rule::product;
    if (m == "mad.wide" || (m == "mad" && low)) return Rule::product_sum;
    if (m == "shl") return Rule::shift;
    if (m == "div" || m == "shr" || m == "mul") return Rule::quotient;
    if (m == "rem") return Rule::remainder;
    if (m == "min" || m == "max") return Rule::clamp;
    if (m == "and") return Rule::bit_and;
    if (m == "or" || m == "xor") return Rule::bit_or;
    return Rule::none;
}

// Whether the lanes of a line differ in no bit that `bits` has: 0 <= bits.
bool lies_above(std::int64_t step, std::int64_t bits) {
    std::int64_t above = 1;
    while (above <= bits) above *= 2;
    return step % above == 0;
}

}  // namespace

bool KernelAnalysis::rise_of_lanes(std::uint32_t n, const std::vector<std::int64_t>& steps,
                                   Rise& rise) const {
    const OpEffects& s = this->steps[n];
    if (s.kind != Kind::lanes) return false;  // only those are known to have a form
    if (!is_whole(s.origin.key.type)) return false;
    std::size_t source = 0;
    bool narrow = false;  // 16 bits, which only uniform values are followed through
    for (const Access& access : s.accesses) {
        const bool rises = !access.write && steps[source++] != 0;
        if (access.bytes != 4 && access.bytes != 8 && (access.bytes != 2 || rises)) return false;
        narrow |= access.write && access.bytes == 2;
    }
    // The value of an operand that is a constant.
    const auto known = [&](std::size_t k, std::int64_t& value) {
        const Access& access = s.accesses[k + 1];
        const Register* r = at(access.offset);
        if (access.offset == 0) value = 0;
        if (r && r->constant)
            value = access.bytes == 8 ? static_cast<std::int64_t>(r->value)
                                      : static_cast<std::int32_t>(r->value);
        return access.offset == 0 || (r && r->constant && value >= -most && value <= most);
    };
    std::int64_t& step = rise.step;
    const auto product = [&](std::size_t a, std::size_t b) {
        std::int64_t value = 0;
        if (steps[a] == 0 && steps[b] == 0) {
            step = 0;
        } else if (steps[b] == 0 && known(b, value)) {
            step = steps[a] * value;
        } else if (steps[a] == 0 && known(a, value)) {
            step = steps[b] * value;
        } else {
            return false;
        }
        return true;
    };
    rise = {};
    const Rule rule = rule_of(s.origin);
    const bool uniform =
        std::all_of(steps.begin(), steps.end(), [](std::int64_t each) { return each == 0; });
    if (uniform && (rule == Rule::none || rule >= Rule::quotient)) {
        rise.proof = Proof::uniform;
        return true;
    }
    std::int64_t value = 0;
    switch (rule) {
        case Rule::none:
            return false;
        case Rule::copy:
            step = steps[0];
            break;
        case Rule::sum:
            step = steps[0] + steps[1];
            break;
        case Rule::difference:
            step = steps[0] - steps[1];
            break;
        case Rule::product:
            if (!product(0, 1)) return false;
            break;
        case Rule::product_sum:
            if (!product(0, 1)) return false;
            step += steps[2];
            break;
        case Rule::shift:
            if (steps[1] != 0 || (steps[0] != 0 && (!known(1, value) || value < 0 || value > 12)))
                return false;
            step = steps[0] * (std::int64_t{1} << value);
            break;
        case Rule::quotient:
        case Rule::remainder:
            if (steps[1] != 0) return false;
            step = rule == Rule::quotient ? 0 : steps[0];
            rise.proof = Proof::ends;
            break;
        case Rule::clamp:
            if (steps[0] != 0 && steps[1] != 0) return false;
            step = steps[0] + steps[1];
            rise.proof = Proof::ends;
            break;
        case Rule::bit_and: {
            const std::size_t mask = steps[1] == 0 ? 1 : 0;
            if (steps[mask] != 0) return false;
            step = steps[1 - mask];
            if (known(mask, value) && value < 0 && lies_above(step, ~value)) break;
            rise.proof = Proof::low_bits;
            break;
        }
        case Rule::bit_or: {
            const std::size_t bits = steps[1] == 0 ? 1 : 0;
            step = steps[1 - bits];
            if (steps[bits] != 0 || !known(bits, value) || value < 0 || !lies_above(step, value))
                return false;
            break;
        }
    }
    return step >= -most && step <= most && (step == 0 || !narrow);
}

const Register* KernelAnalysis::quotient_of(std::uint32_t n) const {
    const OpEffects& step = steps[n];
    if (step.kind != Kind::lanes || step.guarded || !is_whole(step.origin.key.type)) return nullptr;
    const std::string_view m = step.origin.form.form().mnemonic;
    const Register* r = m == "div" || m == "rem" ? at(step.accesses[0].offset) : nullptr;
    return r && r->bytes >= 4 && r->is_affine && !r->uniform ? r : nullptr;
}

// What each register seems to rise by: as long as all that writes it says the same.
void KernelAnalysis::find_steps() {
    enum class Known : std::uint8_t { nothing, step, none };
    std::vector<Known> known(registers.size(), Known::nothing);
    for (std::uint32_t r = 0; r < registers.size(); ++r) {
        Register& reg = registers[r];
        if (reg.uniform || reg.constant || reg.is_affine) known[r] = Known::step;
        if ((reg.file || reg.special) && known[r] != Known::step) known[r] = Known::none;
    }
    // What hostile code hides is left unfound.
    unsigned rounds = 8;
    for (bool changed = true; changed && rounds-- > 0;) {
        changed = false;
        for (std::uint32_t n = 0; n < steps.size(); ++n) {
            std::vector<std::int64_t> sources;
            bool all = true, some = true;  // sources are known; may come to be
            for (const Access& access : steps[n].accesses) {
                if (access.write) continue;
                const std::uint32_t r = access.offset == 0 ? 0 : by_offset_.at(access.offset);
                sources.push_back(access.offset == 0 ? 0 : registers[r].step);
                if (access.offset == 0) continue;
                all &= known[r] == Known::step;
                some &= known[r] != Known::none;
            }
            if (!all && some && steps[n].kind == Kind::lanes) continue;
            Rise rise;
            const bool found = all && rise_of_lanes(n, sources, rise);
            for (const Access& access : steps[n].accesses) {
                if (!access.write || access.offset == 0) continue;
                const std::uint32_t r = by_offset_.at(access.offset);
                Register& reg = registers[r];
                if (reg.uniform || reg.constant || reg.special || known[r] == Known::none) continue;
                const bool fits = found && (known[r] == Known::nothing || reg.step == rise.step);
                if (fits && known[r] == Known::step) continue;
                known[r] = fits ? Known::step : Known::none;
                reg.step = fits ? rise.step : 0;
                changed = true;
            }
        }
    }
    for (std::uint32_t r = 0; r < registers.size(); ++r)
        registers[r].is_affine = known[r] == Known::step && !registers[r].file;
}

// What is written once, of what never changes, and is alive where lanes wait: they need not put it
// into the register file again each time.
void KernelAnalysis::find_single_assignment() {
    if (!waits()) return;
    const auto never_changes = [&](const Register& r) {
        return r.single_assignment || r.uniform || r.constant || r.special;
    };
    std::vector<std::uint32_t> found;  // in order of need
    unsigned rounds = 16;
    for (bool changed = true; changed && rounds-- > 0;) {
        changed = false;
        for (std::uint32_t n = 0; n < steps.size(); ++n) {
            const OpEffects& step = steps[n];
            if (step.guarded || (step.kind != Kind::lanes && step.kind != Kind::logic)) continue;
            bool can = true, fresh = false;
            for (const Access& access : step.accesses) {
                if (access.offset == 0) continue;
                const Register& r = *at(access.offset);
                if (access.write) {
                    can &= r.writes == 1 && !r.file && !r.special && !r.uniform;
                    fresh |= !r.single_assignment;
                } else {
                    can &= never_changes(r);
                }
            }
            if (!can || !fresh) continue;
            for (const Access& access : step.accesses)
                if (access.write && access.offset != 0) reg(access.offset).single_assignment = true;
            found.push_back(n);
            changed = true;
        }
    }
    find_hoisted(found);
    // A line serves for most: such a register is fetched from there where it does not.
    for (Register& r : registers) {
        r.single_assignment &= r.live_across_blocks;
        r.file |= r.single_assignment && r.invariant_affine;
        r.single_assignment &= !r.file;
    }
}

// Of that, what loops would make again in each round, and what it is made of.
void KernelAnalysis::find_hoisted(const std::vector<std::uint32_t>& found) {
    // Between a branch back and where it leads, by sums.
    std::vector<std::int32_t> loops(blocks.size() + 1);
    for (std::uint32_t b = 0; b < blocks.size(); ++b)
        for (const std::uint32_t to : blocks[b].successors)
            if (to <= b) ++loops[to], --loops[b + 1];
    std::partial_sum(loops.begin(), loops.end(), loops.begin());
    std::set<std::int32_t> needed;
    for (std::size_t k = found.size(); k-- > 0;) {
        OpEffects& step = steps[found[k]];
        step.hoisted = loops[block_of_[found[k]]] > 0;
        for (const Access& access : step.accesses)
            step.hoisted |= access.write && needed.count(access.offset) != 0;
        if (!step.hoisted) continue;
        for (const Access& access : step.accesses) {
            if (!access.write)
                needed.insert(access.offset);
            else if (access.offset != 0)
                reg(access.offset).file = true;
        }
        hoisted.insert(hoisted.begin(), found[k]);
    }
}

// As find_same, for what has a line.
void KernelAnalysis::find_invariant_affine() {
    for (Register& r : registers) r.invariant_affine = r.special && r.is_affine && !r.uniform;
    unsigned rounds = 16;
    for (bool changed = true; changed && rounds-- > 0;) {
        changed = false;
        for (std::uint32_t n = 0; n < steps.size(); ++n) {
            if (steps[n].guarded || steps[n].kind != Kind::lanes) continue;
            std::uint32_t result = 0;
            bool can = true, any = false;
            for (const Access& access : steps[n].accesses) {
                if (access.offset == 0) {
                    can &= !access.write;
                    continue;
                }
                const std::uint32_t r = by_offset_.at(access.offset);
                const Register& reg = registers[r];
                if (access.write) {
                    any = true;
                    result = r;
                    can &=
                        reg.is_affine && !reg.invariant_affine && !reg.uniform && reg.writes == 1;
                } else {
                    can &= reg.invariant_affine || reg.uniform || reg.constant;
                }
            }
            if (!can || !any) continue;
            registers[result].invariant_affine = true;
            invariant_affine.push_back(result);
            changed = true;
        }
    }
}

}  // namespace cupola::cpu::compiler
