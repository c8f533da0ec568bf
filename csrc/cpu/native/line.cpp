// csrc/cpu/native/line.cpp - which registers rise by a constant from lane to lane, as addresses of
// neighbouring elements do.
//
// A block's x coordinates are consecutive in each half of a warp, whatever shape the block has that
// programs use, and its y coordinates are the same. What is computed from these by additions and
// multiplications has a *line*: the value of lane 0, that of lane 16, and the step between lanes.
// Machine code computes lines as scalars beside the vectors; whether a line holds is looked at when
// the code runs, so that what is found here need only be likely.
#include <numeric>
#include <set>

#include "cpu/native/program.hpp"

namespace cupola::cpu::native {

using namespace exec;

namespace {

// Beyond this no access is of neighbours.
constexpr std::int64_t most = 1 << 12;

bool is_whole(ptx::Type t) {
    return ptx::is_integer(t) || t == ptx::Type::b32 || t == ptx::Type::b64;
}

enum class Rule : std::uint8_t { none, copy, sum, difference, product, product_sum, shift };

Rule rule_of(const exec::Origin& origin) {
    const std::string_view m = origin.form.form().mnemonic;
    const bool low =
        static_cast<ptx::Part>(ptx::field::part.get(origin.key.modifiers)) != ptx::Part::hi;
    if (ptx::field::sat.get(origin.key.modifiers) != 0) return Rule::none;
    if (m == "mov") return Rule::copy;
    if (m == "cvt") return is_whole(origin.key.type2) ? Rule::copy : Rule::none;
    if (m == "add") return Rule::sum;
    if (m == "sub") return Rule::difference;
    if ((m == "mul" && low) || m == "mul.wide") return Rule::product;
    if ((m == "mad" && low) || m == "mad.wide") return Rule::product_sum;
    if (m == "shl") return Rule::shift;
    return Rule::none;
}

}  // namespace

bool Program::step_of(std::uint32_t n, const std::vector<std::int64_t>& steps,
                      std::int64_t& step) const {
    const Step& s = this->steps[n];
    if (s.kind != Kind::lanes) return false;  // only those are known to have a form
    const Rule rule = rule_of(s.origin);
    if (rule == Rule::none || !is_whole(s.origin.key.type)) return false;
    for (const Access& access : s.accesses)
        if (access.bytes != 4 && access.bytes != 8) return false;
    // The value of an operand that is a constant.
    const auto known = [&](std::size_t k, std::int64_t& value) {
        const Access& access = s.accesses[k + 1];
        const Register* r = at(access.offset);
        if (access.offset == 0) value = 0;
        if (r && r->constant) value = static_cast<std::int32_t>(r->value);
        return access.offset == 0 || (r && r->constant && value >= -most && value <= most);
    };
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
    std::int64_t count = 0;
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
            if (steps[1] != 0 || (steps[0] != 0 && (!known(1, count) || count < 0 || count > 12)))
                return false;
            step = steps[0] * (std::int64_t{1} << count);
            break;
    }
    return step >= -most && step <= most;
}

// What each register seems to rise by: as long as all that writes it says the same.
void Program::find_steps() {
    enum class Known : std::uint8_t { nothing, step, none };
    std::vector<Known> known(registers.size(), Known::nothing);
    for (std::uint32_t r = 0; r < registers.size(); ++r) {
        Register& reg = registers[r];
        if (reg.same || reg.constant || reg.stepped) known[r] = Known::step;
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
            std::int64_t step = 0;
            const bool found = all && step_of(n, sources, step);
            for (const Access& access : steps[n].accesses) {
                if (!access.write || access.offset == 0) continue;
                const std::uint32_t r = by_offset_.at(access.offset);
                Register& reg = registers[r];
                if (reg.same || reg.constant || reg.special || known[r] == Known::none) continue;
                const bool fits = found && (known[r] == Known::nothing || reg.step == step);
                if (fits && known[r] == Known::step) continue;
                known[r] = fits ? Known::step : Known::none;
                reg.step = fits ? step : 0;
                changed = true;
            }
        }
    }
    for (std::uint32_t r = 0; r < registers.size(); ++r)
        registers[r].stepped = known[r] == Known::step && !registers[r].file;
}

// What is written once, of what never changes, and is alive where lanes wait: they need not put it
// into the register file again each time.
void Program::find_steady() {
    if (!waits()) return;
    const auto never_changes = [&](const Register& r) {
        return r.steady || r.same || r.constant || r.special;
    };
    std::vector<std::uint32_t> found;  // in order of need
    unsigned rounds = 16;
    for (bool changed = true; changed && rounds-- > 0;) {
        changed = false;
        for (std::uint32_t n = 0; n < steps.size(); ++n) {
            const Step& step = steps[n];
            if (step.guarded || (step.kind != Kind::lanes && step.kind != Kind::logic)) continue;
            bool can = true, fresh = false;
            for (const Access& access : step.accesses) {
                if (access.offset == 0) continue;
                const Register& r = *at(access.offset);
                if (access.write) {
                    can &= r.writes == 1 && !r.file && !r.special && !r.same;
                    fresh |= !r.steady;
                } else {
                    can &= never_changes(r);
                }
            }
            if (!can || !fresh) continue;
            for (const Access& access : step.accesses)
                if (access.write && access.offset != 0) reg(access.offset).steady = true;
            found.push_back(n);
            changed = true;
        }
    }
    find_early(found);
    // A line serves for most: such a register is fetched from there where it does not.
    for (Register& r : registers) {
        r.steady &= r.crosses;
        r.file |= r.steady && r.fixed;
        r.steady &= !r.file;
    }
}

// Of that, what loops would make again in each round, and what it is made of.
void Program::find_early(const std::vector<std::uint32_t>& steady) {
    // Between a branch back and where it leads, by sums.
    std::vector<std::int32_t> loops(blocks.size() + 1);
    for (std::uint32_t b = 0; b < blocks.size(); ++b)
        for (const std::uint32_t to : blocks[b].successors)
            if (to <= b) ++loops[to], --loops[b + 1];
    std::partial_sum(loops.begin(), loops.end(), loops.begin());
    std::set<std::int32_t> needed;
    for (std::size_t k = steady.size(); k-- > 0;) {
        Step& step = steps[steady[k]];
        step.early = loops[block_of_[steady[k]]] > 0;
        for (const Access& access : step.accesses)
            step.early |= access.write && needed.count(access.offset) != 0;
        if (!step.early) continue;
        for (const Access& access : step.accesses) {
            if (!access.write)
                needed.insert(access.offset);
            else if (access.offset != 0)
                reg(access.offset).file = true;
        }
        early.insert(early.begin(), steady[k]);
    }
}

// As find_same, for what has a line.
void Program::find_fixed() {
    for (Register& r : registers) r.fixed = r.special && r.stepped && !r.same;
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
                    can &= reg.stepped && !reg.fixed && !reg.same && reg.writes == 1;
                } else {
                    can &= reg.fixed || reg.same || reg.constant;
                }
            }
            if (!can || !any) continue;
            registers[result].fixed = true;
            fixed.push_back(result);
            changed = true;
        }
    }
}

}  // namespace cupola::cpu::native
