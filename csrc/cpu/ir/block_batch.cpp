// csrc/cpu/ir/block_batch.cpp - finds the path through a kernel that all threads of a block may
// take.
//
// Most blocks of a kernel without loops do the same: no thread is beyond the end of the arrays, and
// all go from the first instruction to the last. The first and the last thread of a row of a block
// decide whether all its threads do, where addresses and the operands of branches are lines over
// the row. Then the warps' state is not needed, and no check for each warp.
#include "cpu/ir/kernel_analysis.hpp"

#include <set>

namespace cupola::cpu::compiler {

using namespace interpreter;

// A comparison of integers whose answer changes once on the way from the least to the greatest.
bool is_ordered(const OpEffects& step) {
    using Op = ptx::Compare;
    if (step.kind != Kind::lanes || step.guarded || step.accesses.size() != 4 ||
        step.accesses[1].offset != 0 || step.origin.form.form().mnemonic != "setp" ||
        !ptx::is_integer(step.origin.key.type))
        return false;
    switch (static_cast<Op>(ptx::field::compare.get(step.origin.key.modifiers))) {
        case Op::lt:
        case Op::le:
        case Op::gt:
        case Op::ge:
        case Op::lo:
        case Op::ls:
        case Op::hi:
        case Op::hs:
            return true;
        default:
            return false;
    }
}

// What the codes on the way have made known.
struct KernelAnalysis::Sweeper {
    const KernelAnalysis& program;
    std::set<std::int32_t> written, lines, uniform;  // registers; lines; predicates of the block

    bool is_line(std::int32_t offset) const {
        const Register* r = program.at(offset);
        return r && r->invariant_affine && (r->special ? r->thread >= 0 : lines.count(offset) != 0);
    }
    bool is_one(std::int32_t offset) const {
        const Register* r = program.at(offset);
        return offset == 0 ||
               (r && (r->constant || (r->uniform && !r->of_warp) || uniform.count(offset) != 0));
    }
    bool can_read(const Access& access) const {
        return is_one(access.offset) || is_line(access.offset) || written.count(access.offset) != 0;
    }
    std::int64_t step(std::int32_t offset) const {
        return is_line(offset) ? program.at(offset)->step : 0;
    }
    bool all_ones(const OpEffects& step) const {
        for (const Access& access : step.accesses)
            if (!access.write && !is_one(access.offset)) return false;
        return true;
    }
    // Once each, into variables.
    bool can_write(const Access& access) {
        const Register* r = program.at(access.offset);
        return access.offset == 0 || (r && !r->file && written.insert(access.offset).second);
    }
    // A comparison that the block's first and last threads answer for all.
    bool is_decided(const OpEffects& step) const {
        if (!step.known || step.origin.form.form().mnemonic != "setp" ||
            step.accesses.size() != 4 || step.accesses[1].offset != 0 ||
            !ptx::is_integer(step.origin.key.type))
            return false;
        const std::int32_t a = step.accesses[2].offset, b = step.accesses[3].offset;
        for (const std::int32_t each : {a, b})
            if (!is_line(each) && !is_one(each)) return false;
        const bool flat = this->step(a) == 0 && this->step(b) == 0;
        return flat || (is_ordered(step) && (this->step(a) == 0 || this->step(b) == 0));
    }
    bool computes(const OpEffects& step) {
        for (const Access& access : step.accesses)
            if (!access.write && !can_read(access)) return false;
        for (const Access& access : step.accesses) {
            if (!access.write) continue;
            const Register* r = program.at(access.offset);
            if (r && r->uniform) continue;
            if (r && r->invariant_affine) {
                for (const Access& read : step.accesses)
                    if (!read.write && !is_line(read.offset) && !is_one(read.offset)) return false;
                lines.insert(access.offset);
                continue;
            }
            if (!can_write(access)) return false;
            if (access.bytes == 0 && (step.kind == Kind::logic ? all_ones(step) : is_decided(step)))
                uniform.insert(access.offset);
        }
        return true;
    }
    // Of neighbours, or of one place.
    bool accesses(std::uint32_t n) {
        const OpEffects& step = program.steps[n];
        const DecodedOp& c = program.kernel.code[n];
        const bool load = step.kind == Kind::load;
        const auto space =
            static_cast<ptx::Space>(ptx::field::space.get(step.origin.key.modifiers));
        const std::int32_t address = step.accesses[0].offset;
        if (space == ptx::Space::shared || step.accesses[0].bytes != 8) return false;
        if (!is_line(address) && !is_one(address)) return false;
        const std::int64_t bytes = std::int64_t{ptx::bytes_of(step.origin.key.type)} * c.count;
        if (this->step(address) != bytes && !(load && this->step(address) == 0)) return false;
        for (std::size_t k = 1; k < step.accesses.size(); ++k)
            if (!(load ? can_write(step.accesses[k]) : can_read(step.accesses[k]))) return false;
        return true;
    }
    // Whether threads that come here do nothing more.
    bool leads_out(std::uint32_t n) const {
        while (program.steps[n].kind == Kind::join) ++n;
        return program.steps[n].kind == Kind::exit;
    }
};

void KernelAnalysis::find_sweep() {
    if (waits() || kernel.call_depth != 0) return;
    Sweeper sweeper{*this, {}, {}, {}};
    std::vector<PathStep> way;
    for (std::uint32_t n = 0; n < steps.size();) {
        const OpEffects& step = steps[n];
        if (step.guarded) return;
        std::uint32_t next = n + 1;
        bool taken = false;
        switch (step.kind) {
            case Kind::lanes:
            case Kind::logic:
            case Kind::parameter:
                if (step.kind == Kind::parameter)
                    for (const Access& access : step.accesses)
                        if (access.offset != 0 && !at(access.offset)->uniform) return;
                if (!sweeper.computes(step)) return;
                break;
            case Kind::load:
            case Kind::store:
                if (!sweeper.accesses(n)) return;
                break;
            case Kind::branch:
                if (!sweeper.is_one(step.accesses[0].offset)) return;
                taken = sweeper.leads_out(n + 1);
                if (taken) next = step.targets[0];
                break;
            case Kind::jump:
                next = step.targets[0];
                break;
            case Kind::join:
                break;
            case Kind::exit:
                sweep = std::move(way);
                return;
            default:
                return;
        }
        if (next <= n) return;
        const bool decided = step.kind != Kind::branch && !step.accesses.empty() &&
                             sweeper.uniform.count(step.accesses[0].offset) != 0;
        way.push_back({n, taken, decided});
        n = next;
    }
}

}  // namespace cupola::cpu::compiler
