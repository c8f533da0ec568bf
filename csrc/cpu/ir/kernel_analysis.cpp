// csrc/cpu/ir/kernel_analysis.cpp - registers of a kernel, and which of them have one value for
// all.
#include "cpu/ir/kernel_analysis.hpp"

#include <algorithm>

#include "cpu/interpreter/control.hpp"

namespace cupola::cpu::compiler {

using namespace interpreter;

namespace {

// A kernel beyond this takes the compiler minutes.
constexpr std::size_t max_codes = 20000;
// Branches may share a table of targets, and each has all of it.
constexpr std::size_t max_targets = std::size_t{1} << 18;

// Whether a special register has one value for the warp.
bool special_is_same(unsigned which) {
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

// What it rises by from lane to lane, where blocks have usual shapes.
bool special_has_step(unsigned which, std::int64_t& step) {
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
    : kernel(decoded), steps(decoded.code.size()) {
    if (steps.size() > max_codes) throw Unprintable{"it has too many instructions"};
    bool guarded = false;
    std::size_t targets = 0;
    for (std::uint32_t n = 0; n < steps.size(); ++n) {
        describe(n);
        OpEffects& step = steps[n];
        if (step.kind == Kind::guard_end) guarded = false;
        step.guarded = guarded;
        if (step.kind == Kind::guard_begin) guarded = true;
        if (guarded && step.opaque) step.flows = step.retried = step.entered = false;
        if (guarded && step.flows) throw Unprintable{"it has a guarded instruction that waits"};
        targets += step.targets.size();
        if (targets > max_targets) throw Unprintable{"it has too many branches"};
    }
    find_registers();
    find_parameters();
    find_blocks();
    find_loops();
    find_same();
    find_steps();
    find_invariant_affine();
    // They are in the register file already, and are read there.
    for (Register& r : registers) r.file |= r.special && !r.uniform;
    find_live();
    find_single_assignment();
    find_any_nan();
    find_sweep();
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

// What is read in two widths, or is too wide for a variable, stays in the register file.
void KernelAnalysis::note(const Access& access, std::uint32_t n) {
    if (access.offset == 0) return;
    Register& r = reg(access.offset);
    if (r.bytes == 255) r.bytes = access.bytes;
    if (r.bytes != access.bytes) r.file = true;
    if (access.bytes > 8) r.file = true;
    if (access.write) {
        ++r.writes;
        r.definition = n;
    }
    r.read |= !access.write;
}

void KernelAnalysis::find_registers() {
    bool opaque = false;
    for (std::uint32_t n = 0; n < steps.size(); ++n) {
        opaque |= steps[n].opaque;
        for (const Access& access : steps[n].accesses) note(access, n);
    }
    for (const ConstantLanes& c : kernel.constants) {
        const auto found = by_offset_.find(c.offset);
        if (found == by_offset_.end()) continue;
        Register& r = registers[found->second];
        r.value = c.value;
        if (r.writes != 0) throw Unprintable{"it writes to a constant"};
        if (r.bytes != c.width || c.width > 8)
            r.file = true;
        else if (c.placed)  // what is printed is the same in every process
            r.special = r.uniform = true;
        else
            r.constant = r.uniform = true;
    }
    for (const auto& [which, offset] : kernel.specials) {
        const auto found = by_offset_.find(offset);
        if (found == by_offset_.end()) continue;
        Register& r = registers[found->second];
        r.index = index_dimension(which);
        r.of_x = r.index == 0;
        r.special = r.index < 0;
        r.uniform = special_is_same(which) && r.writes == 0;
        r.of_warp = which == static_cast<unsigned>(ptx::Special::warpid);
        r.is_affine = special_has_step(which, r.step) && r.writes == 0;
        r.thread = thread_dimension(which);
        // Calls move the stack pointer where it lies.
        if (static_cast<Hidden>(which) == Hidden::stack_pointer || r.writes != 0) r.file = true;
    }
    for (Register& r : registers) {
        r.file |= opaque;
        if (r.file && !r.constant) r.uniform = false;
    }
}

// Arithmetic on f32 gives one NaN. Where all that reads a result is arithmetic, which makes that of
// any NaN, or a comparison, it need not be made before.
void KernelAnalysis::find_any_nan() {
    const auto is_arithmetic = [](const OpEffects& step) {
        if (!step.known || step.kind != Kind::lanes || step.origin.key.type != ptx::Type::f32 ||
            !is_printed(step.origin.form))
            return false;
        const std::string_view m = step.origin.form.form().mnemonic;
        return m == "add" || m == "sub" || m == "mul" || m == "fma" || m == "mad" || m == "div" ||
               m == "sqrt" || m == "rcp";
    };
    std::vector<bool> told(registers.size(), false);
    for (std::uint32_t r = 0; r < registers.size(); ++r) told[r] = registers[r].file;
    for (const OpEffects& step : steps) {
        const bool compares = step.known && step.kind == Kind::lanes &&
                              step.origin.key.type == ptx::Type::f32 &&
                              step.origin.form.form().mnemonic == "setp";
        if (compares || is_arithmetic(step)) continue;
        for (const Access& access : step.accesses)
            if (!access.write && access.offset != 0) told[by_offset_.at(access.offset)] = true;
    }
    for (OpEffects& step : steps) {
        if (!is_arithmetic(step)) continue;
        for (const Access& access : step.accesses)
            if (access.write && access.offset != 0)
                step.any_nan = !told[by_offset_.at(access.offset)];
    }
}

// Loads from the parameters' address and a constant, as compilers make of a structure's members,
// are loads of parameters.
void KernelAnalysis::find_parameters() {
    std::map<std::int32_t, std::uint64_t> places;  // registers that have such an address
    for (const auto& [which, offset] : kernel.specials)
        if (which == static_cast<unsigned>(Hidden::parameter_base)) places[offset] = 0;
    if (places.empty()) return;
    const auto place = [&](const Access& access, std::uint64_t& at) {
        const auto found = places.find(access.offset);
        if (found != places.end()) at = found->second;
        return found != places.end();
    };
    for (std::uint32_t n = 0; n < steps.size(); ++n) {
        OpEffects& step = steps[n];
        std::uint64_t at = 0;
        if (!step.known || step.guarded || step.accesses.empty()) continue;
        if (step.kind == Kind::lanes && step.accesses[0].bytes == 8) {
            const Register* to =
                step.accesses[0].write ? this->at(step.accesses[0].offset) : nullptr;
            if (!to || to->writes != 1 || to->file) continue;
            const std::string_view m = step.origin.form.form().mnemonic;
            const std::size_t last = step.accesses.size() - 1;
            if (m == "mov" && last == 1 && place(step.accesses[1], at)) places[to->offset] = at;
            if (m != "add" || last != 2 || step.origin.key.type == ptx::Type::f64) continue;
            for (const std::size_t k : {1, 2}) {
                const Register* by = this->at(step.accesses[3 - k].offset);
                if (by && by->constant && place(step.accesses[k], at))
                    places[to->offset] = at + by->value;
            }
        }
        if (step.kind != Kind::load || !place(step.accesses[0], at)) continue;
        bool held = true;
        for (std::size_t k = 1; k < step.accesses.size(); ++k)
            if (const Register* to = this->at(step.accesses[k].offset)) held &= !to->file;
        const auto space =
            static_cast<ptx::Space>(ptx::field::space.get(step.origin.key.modifiers));
        const std::uint64_t all =
            std::uint64_t{ptx::bytes_of(step.origin.key.type)} * (step.accesses.size() - 1);
        at += static_cast<std::uint64_t>(kernel.code[n].imm);
        if (!held || space == ptx::Space::shared || at % all != 0 || at > kernel.parameter_bytes ||
            kernel.parameter_bytes - at < all)
            continue;
        step.kind = Kind::parameter;
        step.parameter = static_cast<std::int64_t>(at);
        step.accesses.erase(step.accesses.begin());
    }
}

// What is written once, by a function of values that never change, never changes: each lane that
// reads it behind that place finds the same, whenever it was there.
void KernelAnalysis::find_same() {
    std::vector<std::uint32_t> work;
    for (std::uint32_t n = 0; n < registers.size(); ++n)
        if (registers[n].special && registers[n].uniform) uniform.push_back(n);
    // In the order of code nearly all is found at once; what hostile code hides is left unfound.
    unsigned rounds = 16;
    for (bool changed = true; changed && rounds-- > 0;) {
        changed = false;
        for (std::uint32_t n = 0; n < steps.size(); ++n) {
            const OpEffects& step = steps[n];
            if (step.guarded || (step.kind != Kind::lanes && step.kind != Kind::parameter))
                continue;
            bool can = true, fresh = false, of_warp = false, of_x = false;
            for (const Access& access : step.accesses) {
                if (access.offset == 0) {
                    can &= access.write;
                    continue;
                }
                const Register& r = *at(access.offset);
                if (access.write) {
                    can &= r.writes == 1 && !r.file && !r.special && !r.constant;
                    fresh |= !r.uniform;
                } else {
                    can &= r.uniform && !(r.file && !r.constant);
                    of_warp |= r.of_warp;
                    of_x |= r.of_x;
                }
            }
            if (!can || !fresh) continue;
            for (const Access& access : step.accesses)
                if (access.write && access.offset != 0) {
                    reg(access.offset).uniform = true;
                    reg(access.offset).of_warp = of_warp;
                    reg(access.offset).of_x = of_x;
                    uniform.push_back(by_offset_.at(access.offset));
                }
            changed = true;
        }
    }
}

}  // namespace cupola::cpu::compiler
