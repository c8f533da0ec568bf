// csrc/cpu/ir/kernel_analysis.cpp - registers of a kernel, and the passes in the order they run.
//
// Each pass is a file of passes/, of the same name.
#include "cpu/ir/kernel_analysis.hpp"

#include <algorithm>

namespace cupola::cpu::compiler {

using namespace interpreter;

namespace {

// Larger kernels take the compiler minutes.
constexpr std::size_t max_ops = 20000;
// Branches may share a table of targets, but each operation has its own copy.
constexpr std::size_t max_targets = std::size_t{1} << 18;

// Whether a special register is uniform in a warp.
bool special_is_uniform(unsigned which) {
    using S = ptx::Special;
    if (which >= static_cast<unsigned>(S::count))
        return static_cast<Hidden>(which) == Hidden::shared_base ||
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

}  // namespace

std::string Register::name() const {
    return (bytes == 0 ? "p" : uniform ? "u" : "v") + std::to_string(offset);
}

KernelAnalysis::KernelAnalysis(const KernelCode& decoded)
    : kernel(decoded), ops(decoded.code.size()) {
    if (ops.size() > max_ops) throw UnsupportedKernel{"it has too many instructions"};
    bool guarded = false;
    std::size_t targets = 0;
    for (std::uint32_t n = 0; n < ops.size(); ++n) {
        describe_operation(n);
        OpEffects& op = ops[n];
        if (op.kind == Kind::guard_end) guarded = false;
        op.guarded = guarded;
        if (op.kind == Kind::guard_begin) guarded = true;
        if (guarded && op.opaque) op.changes_flow = op.may_retry = op.entry_after = false;
        if (guarded && op.changes_flow)
            throw UnsupportedKernel{"it has a guarded instruction that waits"};
        targets += op.targets.size();
        if (targets > max_targets) throw UnsupportedKernel{"it has too many branches"};
    }
    find_registers();
    find_parameter_loads();
    build_cfg();
    propagate_constants();
    find_uniform();
    find_affine();
    // They are in the register file from the start, and are read there.
    for (Register& r : registers) r.in_file |= r.special && !r.uniform;
    hoist_invariants();
    relax_nans();
    find_block_batches();
    form_barrier_regions();
}

const Register* KernelAnalysis::at(std::int32_t offset) const {
    const auto found = by_offset_.find(offset);
    return found == by_offset_.end() ? nullptr : &registers[found->second];
}

Register& KernelAnalysis::reg(std::int32_t offset) {
    const auto [at, fresh] =
        by_offset_.emplace(offset, static_cast<std::uint32_t>(registers.size()));
    if (fresh) {
        registers.emplace_back();
        registers.back().offset = offset;
        registers.back().bytes = 255;
    }
    return registers[at->second];
}

// A register that is accessed with two widths, or is too wide for a variable, stays in the register
// file.
void KernelAnalysis::record(const Access& access, std::uint32_t n) {
    if (access.offset == 0) return;
    Register& r = reg(access.offset);
    if (r.bytes == 255) r.bytes = access.bytes;
    if (r.bytes != access.bytes) r.in_file = true;
    if (access.bytes > 8) r.in_file = true;
    if (access.write) {
        ++r.writes;
        r.definition = n;
    }
    r.is_read |= !access.write;
}

void KernelAnalysis::find_registers() {
    bool opaque = false;
    for (std::uint32_t n = 0; n < ops.size(); ++n) {
        opaque |= ops[n].opaque;
        for (const Access& access : ops[n].accesses) record(access, n);
    }
    for (const ConstantLanes& c : kernel.constants) {
        const auto found = by_offset_.find(c.offset);
        if (found == by_offset_.end()) continue;
        Register& r = registers[found->second];
        r.value = c.value;
        if (r.writes != 0) throw UnsupportedKernel{"it writes to a constant"};
        if (r.bytes != c.width || c.width > 8)
            r.in_file = true;
        else if (c.placed)  // the emitted source is then the same in every process
            r.special = r.uniform = true;
        else
            r.constant = r.uniform = true;
    }
    for (const auto& [which, offset] : kernel.specials) {
        const auto found = by_offset_.find(offset);
        if (found == by_offset_.end()) continue;
        Register& r = registers[found->second];
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
    for (Register& r : registers) {
        r.in_file |= opaque;
        if (r.in_file && !r.constant) r.uniform = false;
    }
}

}  // namespace cupola::cpu::compiler
