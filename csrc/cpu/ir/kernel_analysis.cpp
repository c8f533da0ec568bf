// csrc/cpu/ir/kernel_analysis.cpp - registers of a kernel, and which of them are uniform.
#include "cpu/ir/kernel_analysis.hpp"

#include <algorithm>

namespace cupola::cpu::compiler {

using namespace interpreter;
using ptx::Opcode;

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
        describe(n);
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
    find_parameters();
    find_blocks();
    find_loops();
    find_liveness();
    propagate_constants();
    find_uniform();
    find_affine();
    find_invariant_affine();
    // They are in the register file from the start, and are read there.
    for (Register& r : registers) r.in_file |= r.special && !r.uniform;
    find_single_assignment();
    find_any_nan();
    find_batch_path();
    find_barrier_regions();
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

// Arithmetic on f32 produces the canonical NaN. If all readers of a result are f32 arithmetic,
// comparisons, or conversions to narrower floats, any NaN will do, as no other NaN is observable.
void KernelAnalysis::find_any_nan() {
    const auto is_arithmetic = [](const OpEffects& op) {
        if (!op.has_form || op.kind != Kind::lanes || op.origin.key.type != ptx::Type::f32 ||
            !has_row_type(op.origin.form))
            return false;
        switch (op.origin.form.opcode()) {
            case Opcode::add:
            case Opcode::sub:
            case Opcode::mul:
            case Opcode::fma:
            case Opcode::mad:
            case Opcode::div:
            case Opcode::sqrt:
            case Opcode::rcp:
                return true;
            default:
                return false;
        }
    };
    const auto converts = [](const OpEffects& op, ptx::Type to, ptx::Type from) {
        return op.has_form && op.kind == Kind::lanes && op.origin.form.opcode() == Opcode::cvt &&
               op.origin.key.type == to && op.origin.key.type2 == from;
    };
    std::vector<bool> is_observed(registers.size(), false);
    for (std::uint32_t r = 0; r < registers.size(); ++r) is_observed[r] = registers[r].in_file;
    for (const OpEffects& op : ops) {
        const bool compares = op.has_form && op.kind == Kind::lanes &&
                              op.origin.key.type == ptx::Type::f32 &&
                              op.origin.form.opcode() == Opcode::setp;
        if (compares || is_arithmetic(op) || converts(op, ptx::Type::f16, ptx::Type::f32) ||
            converts(op, ptx::Type::bf16, ptx::Type::f32))
            continue;
        for (const Access& access : op.accesses)
            if (!access.write && access.offset != 0)
                is_observed[by_offset_.at(access.offset)] = true;
    }
    for (OpEffects& op : ops) {
        if (!is_arithmetic(op) && !converts(op, ptx::Type::f32, ptx::Type::f16)) continue;
        for (const Access& access : op.accesses)
            if (access.write && access.offset != 0)
                op.any_nan = !is_observed[by_offset_.at(access.offset)];
    }
}

// Loads at a constant offset from the parameters' address become loads of parameters. Compilers
// emit them for members of structures.
void KernelAnalysis::find_parameters() {
    std::map<std::int32_t, std::uint64_t> addresses;  // registers that hold such an address
    for (const auto& [which, offset] : kernel.specials)
        if (which == static_cast<unsigned>(Hidden::parameter_base)) addresses[offset] = 0;
    if (addresses.empty()) return;
    const auto address_of = [&](const Access& access, std::uint64_t& at) {
        const auto found = addresses.find(access.offset);
        if (found != addresses.end()) at = found->second;
        return found != addresses.end();
    };
    for (std::uint32_t n = 0; n < ops.size(); ++n) {
        OpEffects& op = ops[n];
        std::uint64_t at = 0;
        if (!op.has_form || op.guarded || op.accesses.empty()) continue;
        if (op.kind == Kind::lanes && op.accesses[0].bytes == 8) {
            const Register* to = op.accesses[0].write ? this->at(op.accesses[0].offset) : nullptr;
            if (!to || to->writes != 1 || to->in_file) continue;
            const Opcode opcode = op.origin.form.opcode();
            const std::size_t last = op.accesses.size() - 1;
            if (opcode == Opcode::mov && last == 1 && address_of(op.accesses[1], at))
                addresses[to->offset] = at;
            if (opcode != Opcode::add || last != 2 || op.origin.key.type == ptx::Type::f64)
                continue;
            for (const std::size_t k : {1, 2}) {
                const Register* by = this->at(op.accesses[3 - k].offset);
                if (by && by->constant && address_of(op.accesses[k], at))
                    addresses[to->offset] = at + by->value;
            }
        }
        if (op.kind != Kind::load || !address_of(op.accesses[0], at)) continue;
        bool in_variables = true;
        for (std::size_t k = 1; k < op.accesses.size(); ++k)
            if (const Register* to = this->at(op.accesses[k].offset)) in_variables &= !to->in_file;
        const auto space = static_cast<ptx::Space>(ptx::field::space.get(op.origin.key.modifiers));
        const std::uint64_t all =
            std::uint64_t{ptx::bytes_of(op.origin.key.type)} * (op.accesses.size() - 1);
        at += static_cast<std::uint64_t>(kernel.code[n].imm);
        if (!in_variables || space == ptx::Space::shared || at % all != 0 ||
            at > kernel.parameter_bytes || kernel.parameter_bytes - at < all)
            continue;
        op.kind = Kind::parameter;
        op.parameter = static_cast<std::int64_t>(at);
        op.accesses.erase(op.accesses.begin());
    }
}

// A register that is written once, from values that never change, never changes either. All lanes
// that read it see the same value.
void KernelAnalysis::find_uniform() {
    std::vector<std::uint32_t> work;
    for (std::uint32_t n = 0; n < registers.size(); ++n)
        if (registers[n].special && registers[n].uniform) uniform.push_back(n);
    // Code order finds nearly all in one pass. The bound limits the time for hostile code.
    unsigned passes = 16;
    for (bool changed = true; changed && passes-- > 0;) {
        changed = false;
        for (std::uint32_t n = 0; n < ops.size(); ++n) {
            const OpEffects& op = ops[n];
            if (op.guarded || (op.kind != Kind::lanes && op.kind != Kind::parameter)) continue;
            bool can = true, fresh = false, of_warp = false, of_x = false;
            for (const Access& access : op.accesses) {
                if (access.offset == 0) {
                    can &= access.write;
                    continue;
                }
                const Register& r = *at(access.offset);
                if (access.write) {
                    can &= r.writes == 1 && !r.in_file && !r.special && !r.constant;
                    fresh |= !r.uniform;
                } else {
                    can &= r.uniform && !(r.in_file && !r.constant);
                    of_warp |= r.per_warp;
                    of_x |= r.varies_in_x;
                }
            }
            if (!can || !fresh) continue;
            for (const Access& access : op.accesses)
                if (access.write && access.offset != 0) {
                    reg(access.offset).uniform = true;
                    reg(access.offset).per_warp = of_warp;
                    reg(access.offset).varies_in_x = of_x;
                    uniform.push_back(by_offset_.at(access.offset));
                }
            changed = true;
        }
    }
}

}  // namespace cupola::cpu::compiler
