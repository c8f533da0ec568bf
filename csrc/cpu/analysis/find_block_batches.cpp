// csrc/cpu/analysis/find_block_batches.cpp - finds a path through a kernel that all threads of a
// block may take.
//
// Most threads of a kernel without loops behave alike: they run from the first instruction to the
// last. Where addresses and branch operands are affine over consecutive threads of a row of a
// block, the first and the last of these threads decide for all. Such a piece of a row needs
// neither the state of warps nor a check for each warp.
//
// The path may contain loops that threads leave in different iterations, as in a search. Values
// that are affine or uniform in 32 threads are scalars there. An access whose check fails in a loop
// ends the batch before these threads have had an effect.
#include <algorithm>
#include <set>

#include "cpu/analysis/passes.hpp"

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

bool has_value(const Register& r) { return r.constant || (r.uniform && !r.per_warp); }

// Whether each write to a register gives an affine value, by operations on other such registers.
std::vector<bool> find_scalars(const KernelAnalysis& analysis) {
    std::vector<bool> can(analysis.registers.size());
    for (std::size_t n = 0; n < can.size(); ++n) {
        const Register& r = analysis.registers[n];
        can[n] = r.is_affine && r.bytes >= 4 && !has_value(r) && !r.uniform && !r.special &&
                 !r.invariant_affine && !r.in_file;
    }
    const auto is_affine = [&](const OpEffects& op, std::uint32_t n, std::uint32_t to) {
        std::vector<std::int64_t> steps;
        unsigned results = 0;
        for (const Access& access : op.accesses) {
            results += access.write;
            if (access.write) continue;
            const Register* const r = analysis.at(access.offset);
            if (r && !has_value(*r) && !r->invariant_affine && !can[analysis.index_of(*r)])
                return false;
            steps.push_back(r && !has_value(*r) ? r->step : 0);
        }
        AffineStep made;
        return op.kind == Kind::lanes && !op.guarded && results == 1 &&
               analysis.affine_step(n, steps, made) && made.step == analysis.registers[to].step;
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (std::uint32_t n = 0; n < analysis.ops.size(); ++n)
            for (const Access& access : analysis.ops[n].accesses) {
                if (!access.write || access.offset == 0) continue;
                const std::uint32_t to = analysis.index_at(access.offset);
                if (!can[to] || is_affine(analysis.ops[n], n, to)) continue;
                can[to] = false;
                changed = true;
            }
    }
    return can;
}

// Facts after the operations of the path so far.
struct PathChecker {
    const KernelAnalysis& analysis;
    const std::vector<bool> can_be_scalar = find_scalars(analysis);
    std::set<std::int32_t> written = {}, affine = {},
                           uniform = {};  // registers; affine registers; predicates that are
                                          // uniform in the block
    std::set<std::int32_t> scalars = {};  // registers that are scalars of 32 threads now
    bool made_scalar = false;             // by the last operation
    // Whether the path had no effect yet. Then threads may leave it and exit, and a check that
    // fails ends the batch: the threads begin again.
    bool can_begin_again = true;

    bool is_affine(std::int32_t offset) const {
        const Register* r = analysis.at(offset);
        return r && r->invariant_affine &&
               (r->special ? r->tid_dimension >= 0 : affine.count(offset) != 0);
    }
    bool is_uniform(std::int32_t offset) const {
        const Register* r = analysis.at(offset);
        return offset == 0 || (r && (has_value(*r) || uniform.count(offset) != 0));
    }
    bool is_scalar(std::int32_t offset) const { return scalars.count(offset) != 0; }
    bool can_read(const Access& access) const {
        return is_uniform(access.offset) || is_affine(access.offset) || is_scalar(access.offset) ||
               written.count(access.offset) != 0;
    }
    std::int64_t step(std::int32_t offset) const {
        return is_affine(offset) || is_scalar(offset) ? analysis.at(offset)->step : 0;
    }
    // Whether 32 threads have one value, which may change.
    bool is_uniform_scalar(std::int32_t offset) const {
        return is_uniform(offset) || (is_scalar(offset) && this->step(offset) == 0);
    }
    bool reads_scalars(const OpEffects& op) const {
        for (const Access& access : op.accesses)
            if (!access.write && !is_uniform(access.offset) && !is_affine(access.offset) &&
                !is_scalar(access.offset))
                return false;
        return true;
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
        scalars.erase(access.offset);
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
    // A comparison of scalars that have one value in 32 threads.
    bool compares_scalars(const OpEffects& op) const {
        return (is_ordered(op) || is_equality(op)) && is_uniform_scalar(op.accesses[2].offset) &&
               is_uniform_scalar(op.accesses[3].offset);
    }
    bool computes(const OpEffects& op) {
        made_scalar = false;
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
            if (r && can_begin_again && can_be_scalar[analysis.index_of(*r)] && reads_scalars(op)) {
                scalars.insert(access.offset);
                made_scalar = true;
                continue;
            }
            if (!can_write(access)) return false;
            if (access.bytes != 0 || access.offset == 0) continue;
            if (op.kind == Kind::logic ? all_uniform(op) : is_decided(op)) {
                uniform.insert(access.offset);
            } else if (can_begin_again && compares_scalars(op)) {
                scalars.insert(access.offset);
                made_scalar = true;
            }
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
        if (!is_affine(address) && !is_uniform(address) &&
            !(is_scalar(address) && load && can_begin_again))
            return false;
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

// Follows the path from the kernel's start to its exit.
class PathFinder {
  public:
    explicit PathFinder(KernelAnalysis& analysis) : analysis_(analysis), path_{analysis} {}
    void find();

  private:
    // A loop that the path is in.
    struct OpenLoop {
        std::size_t index;               // in loops_
        std::uint32_t begin, end;        // operations
        std::set<std::int32_t> scalars;  // at the loop's start
        // The operation where all threads continue, or 0 before it is known, and scalars there.
        std::uint32_t after = 0;
        std::set<std::int32_t> scalars_after = {};
        bool contains(std::uint32_t n) const { return n >= begin && n < end; }
    };

    bool open_loop(std::uint32_t b);
    bool close_loop();
    bool leave_loop(std::uint32_t to);
    std::vector<std::uint32_t> comparisons_after(const OpenLoop& loop, std::int32_t offset) const;
    bool step_over(std::uint32_t n);
    bool branch(std::uint32_t n);
    bool branch_in_loop(std::uint32_t n);
    bool jump(std::uint32_t n);

    KernelAnalysis& analysis_;
    PathChecker path_;
    std::vector<PathStep> steps_;
    std::vector<PathLoop> loops_;
    std::vector<OpenLoop> open_;
    std::set<std::uint32_t> compared_;  // comparisons that are made where threads leave a loop
    std::uint32_t next_ = 0;
};

bool PathFinder::open_loop(std::uint32_t b) {
    const Block& block = analysis_.blocks[b];
    if (!path_.can_begin_again) return false;
    open_.push_back(
        {loops_.size(), block.first, analysis_.blocks[block.loop_end].end, path_.scalars});
    loops_.push_back({steps_.size(), 0, b});
    return true;
}

// Threads leave the innermost loop to this operation.
bool PathFinder::leave_loop(std::uint32_t to) {
    OpenLoop& loop = open_.back();
    while (analysis_.ops[to].kind == Kind::join) ++to;
    if (!analysis_.is_leader(to) || to < loop.end) return false;
    std::set<std::int32_t> scalars;
    for (const std::int32_t offset : path_.scalars)
        if (analysis_.blocks[analysis_.block_of[to]].live[analysis_.index_at(offset)])
            scalars.insert(offset);
    if (loop.after != 0) return loop.after == to && loop.scalars_after == scalars;
    loop.after = to;
    loop.scalars_after = std::move(scalars);
    return true;
}

// The operations that read a result of the loop, if all compare it with uniform values. Then the
// result needs no vector: threads that leave together have one value.
std::vector<std::uint32_t> PathFinder::comparisons_after(const OpenLoop& loop,
                                                         std::int32_t offset) const {
    std::vector<std::uint32_t> found;
    if (!open_.empty()) return {};
    for (std::uint32_t n = loop.after; n < analysis_.ops.size(); ++n) {
        const OpEffects& op = analysis_.ops[n];
        bool reads = false, others = true;
        for (const Access& access : op.accesses) {
            if (access.write && access.offset == offset) return {};
            if (access.write) continue;
            reads |= access.offset == offset;
            others &= access.offset == offset || path_.is_uniform(access.offset);
        }
        if (!reads) continue;
        if (!others || !compares_integers(op) || analysis_.at(op.accesses[0].offset)->writes != 1)
            return {};
        found.push_back(n);
    }
    return found;
}

// After the branch back to the loop's header, the path continues after the loop.
bool PathFinder::close_loop() {
    OpenLoop loop = std::move(open_.back());
    open_.pop_back();
    PathLoop& made = loops_[loop.index];
    made.end = steps_.size();
    if (loop.after == 0 || (!open_.empty() && !open_.back().contains(loop.after))) return false;
    // A straight loop that threads leave together has batches: see emitter/loop_batches.cpp.
    if (!made.diverges && analysis_.is_straight_loop(made.header)) return false;
    // A register that is a scalar at the end of an iteration is one at the start of the next.
    for (std::size_t r = 0; r < analysis_.registers.size(); ++r) {
        const std::int32_t offset = analysis_.registers[r].offset;
        if (analysis_.blocks[made.header].live[r] &&
            path_.is_scalar(offset) != (loop.scalars.count(offset) != 0))
            return false;
    }
    for (std::size_t k = made.first; k < made.end && made.diverges; ++k) {
        if (!steps_[k].scalar) continue;
        for (const Access& access : analysis_.ops[steps_[k].op].accesses) {
            if (!access.write || loop.scalars_after.erase(access.offset) == 0) continue;
            // The predicate has the value of the last iteration for all threads.
            if (access.bytes == 0) return false;
            const auto comparisons = comparisons_after(loop, access.offset);
            compared_.insert(comparisons.begin(), comparisons.end());
            made.comparisons.insert(made.comparisons.end(), comparisons.begin(), comparisons.end());
            path_.written.insert(access.offset);
            if (comparisons.empty()) made.results.push_back(access.offset);
        }
    }
    path_.scalars = made.scalars_after = std::move(loop.scalars_after);
    next_ = loop.after;
    return true;
}

bool PathFinder::branch_in_loop(std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    const std::int32_t predicate = op.accesses[0].offset;
    const std::uint32_t to = op.targets[0];
    const bool together = path_.is_uniform_scalar(predicate);
    if (!path_.can_read(op.accesses[0])) return false;
    const bool repeats = to == open_.back().begin;
    PathStep step{n, repeats, false, false};
    step.leaves = repeats || !open_.back().contains(to);
    if (step.leaves)
        loops_[open_.back().index].diverges |= !together;
    else if (!together)
        return false;
    steps_.push_back(step);
    if (repeats) return n + 1 == open_.back().end && leave_loop(n + 1) && close_loop();
    next_ = n + 1;
    return open_.back().contains(n + 1) && (!step.leaves || leave_loop(to));
}

bool PathFinder::branch(std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    if (!open_.empty()) return branch_in_loop(n);
    if (!path_.is_uniform(op.accesses[0].offset)) return false;
    const bool taken = path_.reaches_exit(n + 1, true),
               exits = path_.can_begin_again &&
                       path_.reaches_exit(taken ? n + 1 : op.targets[0], false);
    steps_.push_back({n, taken, false, exits});
    next_ = taken ? op.targets[0] : n + 1;
    return next_ > n;
}

bool PathFinder::jump(std::uint32_t n) {
    const std::uint32_t to = analysis_.ops[n].targets[0];
    steps_.push_back({n, false, false, false});
    if (!open_.empty() && to == open_.back().begin)
        return n + 1 == open_.back().end && close_loop();
    next_ = to;
    return to > n && (open_.empty() || open_.back().contains(to));
}

// Whether the path may continue after an operation that is no branch.
bool PathFinder::step_over(std::uint32_t n) {
    const OpEffects& op = analysis_.ops[n];
    bool scalar = false;
    switch (op.kind) {
        case Kind::parameter:
            for (const Access& access : op.accesses)
                if (access.offset != 0 && !analysis_.at(access.offset)->uniform) return false;
            [[fallthrough]];
        case Kind::lanes:
        case Kind::logic:
        case Kind::pack:
        case Kind::unpack:
            if (!path_.computes(op)) return false;
            scalar = path_.made_scalar;
            break;
        case Kind::load:
        case Kind::store:
            scalar = path_.is_scalar(op.accesses[0].offset);
            if (!path_.accesses(n) || (op.kind == Kind::store && !open_.empty())) return false;
            path_.can_begin_again &= op.kind == Kind::load;
            break;
        case Kind::atomic:
            if (!path_.can_begin_again || !open_.empty() || !path_.updates(op)) return false;
            path_.can_begin_again = false;
            break;
        case Kind::join:
            break;
        case Kind::count_branch:
            if (!path_.can_read(op.accesses[0])) return false;
            [[fallthrough]];
        case Kind::count:
            if (!open_.empty()) return false;
            path_.can_begin_again = false;
            break;
        default:
            return false;
    }
    const bool decided = !op.accesses.empty() && path_.uniform.count(op.accesses[0].offset) != 0;
    steps_.push_back({n, false, decided, false, scalar});
    steps_.back().at_exits = compared_.count(n) != 0;
    next_ = n + 1;
    return open_.empty() || open_.back().contains(next_);
}

void PathFinder::find() {
    for (;;) {
        const std::uint32_t n = next_;
        const OpEffects& op = analysis_.ops[n];
        if (op.guarded) return;
        if (analysis_.is_leader(n) && analysis_.blocks[analysis_.block_of[n]].is_loop_header &&
            !open_loop(analysis_.block_of[n]))
            return;
        if (op.kind == Kind::exit && open_.empty()) break;
        const bool follows = op.kind == Kind::branch ? branch(n)
                             : op.kind == Kind::jump ? jump(n)
                                                     : step_over(n);
        if (!follows) return;
    }
    const auto is_on_path = [this](std::uint32_t n) {
        return std::any_of(steps_.begin(), steps_.end(),
                           [n](const PathStep& step) { return step.op == n; });
    };
    for (const std::uint32_t n : compared_)
        if (!is_on_path(n)) return;
    const auto diverges = [](const PathLoop& loop) { return loop.diverges; };
    if (!loops_.empty() && std::none_of(loops_.begin(), loops_.end(), diverges)) return;
    analysis_.batch_path = std::move(steps_);
    analysis_.batch_loops = std::move(loops_);
}

}  // namespace

void find_block_batches(KernelAnalysis& analysis) {
    if (analysis.waits() || analysis.kernel.call_depth != 0) return;
    PathFinder(analysis).find();
}

}  // namespace cupola::cpu::compiler
