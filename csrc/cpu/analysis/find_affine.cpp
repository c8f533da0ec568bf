// csrc/cpu/analysis/find_affine.cpp - finds registers that are affine in the lane.
//
// In each half of a warp, %tid.x rises by one and %tid.y is the same, whatever shape usual thread
// blocks have. A value computed from these by additions and multiplications is *affine*: it has a
// value in lane 0, one in lane 16, and a step between lanes. The results of / and %, as of flat
// indices, are affine too unless a multiple of the divisor lies between the lanes. Machine code
// computes affine values as scalars beside the vectors. It tests at run time whether they are
// affine, so this analysis only has to be likely.
#include <algorithm>

#include "cpu/analysis/passes.hpp"

namespace cupola::cpu::compiler {

using namespace interpreter;

namespace {

// Whether an operation computes with integers of a kind that addresses and counters have.
bool is_of_index_words(const OpEffects& op) {
    const unsigned bytes = ptx::bytes_of(op.origin.key.type);
    return op.has_form && is_integer_or_bits(op.origin.key.type) && (bytes == 4 || bytes == 8);
}

// Like find_uniform(), for affine values.
void find_invariant_affine(KernelAnalysis& analysis) {
    for (Register& r : analysis.registers)
        r.invariant_affine = r.special && r.is_affine && !r.uniform;
    unsigned passes = 16;
    for (bool changed = true; changed && passes-- > 0;) {
        changed = false;
        for (std::uint32_t n = 0; n < analysis.ops.size(); ++n) {
            if (analysis.ops[n].guarded || analysis.ops[n].kind != Kind::lanes) continue;
            std::uint32_t result = 0;
            bool can = true, any = false;
            for (const Access& access : analysis.ops[n].accesses) {
                if (access.offset == 0) {
                    can &= !access.write;
                    continue;
                }
                const std::uint32_t r = analysis.index_at(access.offset);
                const Register& reg = analysis.registers[r];
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
            analysis.registers[result].invariant_affine = true;
            analysis.invariant_affine.push_back(result);
            changed = true;
        }
    }
}

}  // namespace

// Finds the step of each register on which all its writers agree.
void find_affine(KernelAnalysis& analysis) {
    enum class Known : std::uint8_t { nothing, step, none };
    std::vector<Known> known(analysis.registers.size(), Known::nothing);
    for (std::uint32_t r = 0; r < analysis.registers.size(); ++r) {
        Register& reg = analysis.registers[r];
        if (reg.uniform || reg.constant || reg.is_affine) known[r] = Known::step;
        if ((reg.in_file || reg.special) && known[r] != Known::step) known[r] = Known::none;
    }
    // The bound limits the time for hostile code. Registers that are not found by then stay
    // divergent.
    unsigned passes = 8;
    for (bool changed = true; changed && passes-- > 0;) {
        changed = false;
        for (std::uint32_t n = 0; n < analysis.ops.size(); ++n) {
            std::vector<std::int64_t> sources;
            // All: each source has a step; some: no source is divergent.
            bool all = true, some = true;
            bool per_half = false;
            for (const Access& access : analysis.ops[n].accesses) {
                if (access.write) continue;
                const std::uint32_t r = access.offset == 0 ? 0 : analysis.index_at(access.offset);
                sources.push_back(access.offset == 0 ? 0 : analysis.registers[r].step);
                if (access.offset == 0) continue;
                all &= known[r] == Known::step;
                some &= known[r] != Known::none;
                per_half |= analysis.registers[r].step != 0 || analysis.registers[r].per_half;
            }
            if (!all && some &&
                (analysis.ops[n].kind == Kind::lanes || analysis.ops[n].kind == Kind::load))
                continue;
            AffineStep result;
            // A load from one address in each half of a warp gives one value in each half.
            const bool found = all && (analysis.ops[n].kind == Kind::load
                                           ? sources[0] == 0 && is_of_index_words(analysis.ops[n])
                                           : analysis.affine_step(n, sources, result));
            for (const Access& access : analysis.ops[n].accesses) {
                if (!access.write || access.offset == 0) continue;
                const std::uint32_t r = analysis.index_at(access.offset);
                Register& reg = analysis.registers[r];
                if (reg.uniform || reg.constant || reg.special || known[r] == Known::none) continue;
                const bool fits = found && (known[r] == Known::nothing || reg.step == result.step);
                if (fits && known[r] == Known::step && (reg.per_half || !per_half)) continue;
                known[r] = fits ? Known::step : Known::none;
                reg.step = fits ? result.step : 0;
                reg.per_half |= per_half;
                changed = true;
            }
        }
    }
    for (std::uint32_t r = 0; r < analysis.registers.size(); ++r)
        analysis.registers[r].is_affine = known[r] == Known::step && !analysis.registers[r].in_file;
    find_invariant_affine(analysis);
}

}  // namespace cupola::cpu::compiler
