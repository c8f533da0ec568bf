// csrc/cpu/analysis/find_block_batches.cpp - finds a path through a kernel that all threads of a
// block may take.
//
// Most threads of a kernel without loops behave alike: they run from the first instruction to the
// last. Where addresses and branch operands are affine over consecutive threads of a row of a
// block, the first and the last of these threads decide for all. Such a piece of a row needs
// neither the state of warps nor a check for each warp.
#include "cpu/analysis/passes.hpp"

#include <set>

namespace cupola::cpu::compiler {

using namespace interpreter;

namespace {

bool compares_integers(const OpEffects& op) {
    return op.kind == Kind::lanes && !op.guarded && op.accesses.size() == 4 &&
           op.accesses[1].offset == 0 && op.origin.form.opcode() == ptx::Opcode::setp &&
           is_integer_or_bits(op.origin.key.type);
}

}  // namespace

bool is_equality(const OpEffects& op) {
    if (!compares_integers(op)) return false;
    const auto relation =
        static_cast<ptx::Compare>(ptx::field::compare.get(op.origin.key.modifiers));
    return relation == ptx::Compare::eq || relation == ptx::Compare::ne;
}

bool is_ordered(const OpEffects& op) {
    using Op = ptx::Compare;
    if (!compares_integers(op) || !ptx::is_integer(op.origin.key.type)) return false;
    switch (static_cast<Op>(ptx::field::compare.get(op.origin.key.modifiers))) {
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

namespace {

// Facts after the operations of the path so far.
struct PathChecker {
    const KernelAnalysis& analysis;
    std::set<std::int32_t> written, affine,
        uniform;  // registers; affine registers; predicates that are uniform in the block

    bool is_affine(std::int32_t offset) const {
        const Register* r = analysis.at(offset);
        return r && r->invariant_affine &&
               (r->special ? r->tid_dimension >= 0 : affine.count(offset) != 0);
    }
    bool is_uniform(std::int32_t offset) const {
        const Register* r = analysis.at(offset);
        return offset == 0 ||
               (r && (r->constant || (r->uniform && !r->per_warp) || uniform.count(offset) != 0));
    }
    bool can_read(const Access& access) const {
        return is_uniform(access.offset) || is_affine(access.offset) ||
               written.count(access.offset) != 0;
    }
    std::int64_t step(std::int32_t offset) const {
        return is_affine(offset) ? analysis.at(offset)->step : 0;
    }
    bool all_uniform(const OpEffects& op) const {
        for (const Access& access : op.accesses)
            if (!access.write && !is_uniform(access.offset)) return false;
        return true;
    }
    // Registers are C++ variables here. A predicate is assigned at one place, because code for
    // whole rows may compute it first.
    bool can_write(const Access& access) {
        const Register* r = analysis.at(access.offset);
        return access.offset == 0 ||
               (r && !r->in_file && (written.insert(access.offset).second || r->bytes != 0));
    }
    // A comparison that the first and the last thread of a piece decide.
    bool is_decided(const OpEffects& op) const {
        if (!is_ordered(op) && !is_equality(op)) return false;
        const std::int32_t a = op.accesses[2].offset, b = op.accesses[3].offset;
        for (const std::int32_t each : {a, b})
            if (!is_affine(each) && !is_uniform(each)) return false;
        return this->step(a) == 0 || this->step(b) == 0;
    }
    bool computes(const OpEffects& op) {
        for (const Access& access : op.accesses)
            if (!access.write && !can_read(access)) return false;
        for (const Access& access : op.accesses) {
            if (!access.write) continue;
            const Register* r = analysis.at(access.offset);
            if (r && r->uniform) continue;
            if (r && r->invariant_affine) {
                for (const Access& read : op.accesses)
                    if (!read.write && !is_affine(read.offset) && !is_uniform(read.offset))
                        return false;
                affine.insert(access.offset);
                continue;
            }
            if (!can_write(access)) return false;
            if (access.bytes == 0 && (op.kind == Kind::logic ? all_uniform(op) : is_decided(op)))
                uniform.insert(access.offset);
        }
        return true;
    }
    // Contiguous or uniform accesses.
    bool accesses(std::uint32_t n) {
        const OpEffects& op = analysis.ops[n];
        const DecodedOp& c = analysis.kernel.code[n];
        const bool load = op.kind == Kind::load;
        const auto space = static_cast<ptx::Space>(ptx::field::space.get(op.origin.key.modifiers));
        const std::int32_t address = op.accesses[0].offset;
        if (space == ptx::Space::shared || op.accesses[0].bytes != 8) return false;
        if (!is_affine(address) && !is_uniform(address)) return false;
        const std::int64_t bytes = std::int64_t{ptx::bytes_of(op.origin.key.type)} * c.count;
        if (this->step(address) != bytes && !(load && this->step(address) == 0)) return false;
        for (std::size_t k = 1; k < op.accesses.size(); ++k)
            if (!(load ? can_write(op.accesses[k]) : can_read(op.accesses[k]))) return false;
        return true;
    }
    bool updates(const OpEffects& op) const {
        for (const Access& access : op.accesses)
            if (!access.write && !can_read(access)) return false;
        return op.deferred;
    }
    // Whether threads that arrive here only exit. `counted`: coverage may count them.
    bool reaches_exit(std::uint32_t n, bool counted) const {
        while (analysis.ops[n].kind == Kind::join ||
               (counted && analysis.ops[n].kind == Kind::count))
            ++n;
        return analysis.ops[n].kind == Kind::exit;
    }
};

}  // namespace

void find_block_batches(KernelAnalysis& analysis) {
    if (analysis.waits() || analysis.kernel.call_depth != 0) return;
    PathChecker path{analysis, {}, {}, {}};
    std::vector<PathStep> steps;
    // Whether the path had no effect yet. Then threads may leave it and exit, and an update whose
    // address is not allowed ends the batch: the threads begin again.
    bool can_begin_again = true;
    for (std::uint32_t n = 0; n < analysis.ops.size();) {
        const OpEffects& op = analysis.ops[n];
        if (op.guarded) return;
        std::uint32_t next = n + 1;
        bool taken = false, exits = false;
        switch (op.kind) {
            case Kind::lanes:
            case Kind::logic:
            case Kind::pack:
            case Kind::unpack:
            case Kind::parameter:
                if (op.kind == Kind::parameter)
                    for (const Access& access : op.accesses)
                        if (access.offset != 0 && !analysis.at(access.offset)->uniform) return;
                if (!path.computes(op)) return;
                break;
            case Kind::load:
            case Kind::store:
                if (!path.accesses(n)) return;
                can_begin_again &= op.kind == Kind::load;
                break;
            case Kind::atomic:
                if (!can_begin_again || !path.updates(op)) return;
                can_begin_again = false;
                break;
            case Kind::branch:
                if (!path.is_uniform(op.accesses[0].offset)) return;
                taken = path.reaches_exit(n + 1, true);
                exits = can_begin_again && path.reaches_exit(taken ? n + 1 : op.targets[0], false);
                if (taken) next = op.targets[0];
                break;
            case Kind::jump:
                next = op.targets[0];
                break;
            case Kind::join:
                break;
            case Kind::count:
                can_begin_again = false;
                break;
            case Kind::count_branch:
                if (!path.can_read(op.accesses[0])) return;
                can_begin_again = false;
                break;
            case Kind::exit:
                analysis.batch_path = std::move(steps);
                return;
            default:
                return;
        }
        if (next <= n) return;
        const bool decided = op.kind != Kind::branch && !op.accesses.empty() &&
                             path.uniform.count(op.accesses[0].offset) != 0;
        steps.push_back({n, taken, decided, exits});
        n = next;
    }
}

}  // namespace cupola::cpu::compiler
