// csrc/cpu/analysis/find_registers.cpp - the registers that the operations of a kernel access.
#include "cpu/analysis/passes.hpp"

namespace cupola::cpu::compiler {

using namespace interpreter;

namespace {

// Whether a special register is uniform in a warp.
bool special_is_uniform(unsigned which) {
    using S = ptx::Special;
    if (which >= static_cast<unsigned>(S::count))
        return static_cast<Hidden>(which) == Hidden::shared_base ||
               static_cast<Hidden>(which) == Hidden::shared_window ||
               static_cast<Hidden>(which) == Hidden::parameter_base;
    switch (static_cast<S>(which)) {
        case S::tid_x:
        case S::tid_y:
        case S::tid_z:
        case S::laneid:
        case S::lanemask_eq:
        case S::lanemask_le:
        case S::lanemask_lt:
        case S::lanemask_ge:
        case S::lanemask_gt:
            return false;
        default:
            return true;
    }
}

// The likely step of a special register between lanes.
bool special_is_affine(unsigned which, std::int64_t& step) {
    using S = ptx::Special;
    if (which >= static_cast<unsigned>(S::count)) return false;
    const auto s = static_cast<S>(which);
    step = s == S::tid_x || s == S::laneid ? 1 : 0;
    return step == 1 || s == S::tid_y || s == S::tid_z;
}

int thread_dimension(unsigned which) {
    using S = ptx::Special;
    static_assert(static_cast<unsigned>(S::tid_z) == static_cast<unsigned>(S::tid_x) + 2);
    const unsigned first = static_cast<unsigned>(S::tid_x);
    return which >= first && which < first + 3 ? static_cast<int>(which - first) : -1;
}

// A register that is accessed with two widths, or is too wide for a variable, stays in the register
// file.
void record(KernelAnalysis& analysis, const Access& access, std::uint32_t n) {
    if (access.offset == 0) return;
    Register& r = analysis.reg(access.offset);
    if (r.bytes == 255) r.bytes = access.bytes;
    if (r.bytes != access.bytes) r.in_file = true;
    if (access.bytes > 8) r.in_file = true;
    if (access.write) {
        ++r.writes;
        r.definition = n;
    }
    r.is_read |= !access.write;
}

}  // namespace

void find_registers(KernelAnalysis& analysis) {
    bool opaque = false;
    for (std::uint32_t n = 0; n < analysis.ops.size(); ++n) {
        opaque |= analysis.ops[n].opaque;
        for (const Access& access : analysis.ops[n].accesses) record(analysis, access, n);
    }
    for (const ConstantLanes& c : analysis.kernel.constants) {
        if (!analysis.at(c.offset)) continue;
        Register& r = analysis.reg(c.offset);
        r.value = c.value;
        if (r.writes != 0) throw UnsupportedKernel{"it writes to a constant"};
        if (r.bytes != c.width || c.width > 8)
            r.in_file = true;
        else if (c.placed)  // then the emitted source is the same in every process
            r.special = r.uniform = true;
        else
            r.constant = r.uniform = true;
    }
    for (const auto& [which, offset] : analysis.kernel.specials) {
        if (!analysis.at(offset)) continue;
        Register& r = analysis.reg(offset);
        r.ctaid_dimension = index_dimension(which);
        r.varies_in_x = r.ctaid_dimension == 0;
        r.special = r.ctaid_dimension < 0;
        r.uniform = special_is_uniform(which) && r.writes == 0;
        r.per_warp = which == static_cast<unsigned>(ptx::Special::warpid);
        r.is_affine = special_is_affine(which, r.step) && r.writes == 0;
        r.tid_dimension = thread_dimension(which);
        r.per_half = r.is_affine && r.step == 0;
        // Calls change the stack pointer in the register file.
        if (static_cast<Hidden>(which) == Hidden::stack_pointer || r.writes != 0) r.in_file = true;
    }
    for (Register& r : analysis.registers) {
        r.in_file |= opaque;
        if (r.in_file && !r.constant) r.uniform = false;
    }
}

}  // namespace cupola::cpu::compiler
