// csrc/cpu/analysis/find_deferred_updates.cpp - finds atomics whose updates a worker may make
// later.
//
// Many threads that count in few addresses wait for each other's cache line. So a worker keeps the
// updates of its blocks, and makes each of them once: see emitted/deferred_updates.hpp. It applies
// to kernels whose only atomics of global memory have no result, and are of one operation whose
// order does not matter. A thread must not see that its update is missing. So no fence and no
// operation with unknown effects may be in the kernel. Plain accesses that may follow an update are
// the observers: emitted code tests that they access other allocations.

#include "cpu/analysis/passes.hpp"

namespace cupola::cpu::compiler {
namespace {

bool is_of_global(const OpEffects& op) {
    return static_cast<ptx::Space>(ptx::field::space.get(op.origin.key.modifiers)) !=
           ptx::Space::shared;
}

// Whether the operation neither orders accesses of global memory nor accesses it by a handler.
bool is_known(const KernelAnalysis& analysis, std::uint32_t n) {
    switch (analysis.ops[n].kind) {
        case Kind::jump:
        case Kind::join:
        case Kind::branch:
        case Kind::atomic:
        case Kind::ballot:
        case Kind::shuffle:
        case Kind::exit:
        case Kind::count:
        case Kind::count_branch:
            return true;
        case Kind::barrier:
            return analysis.is_block_barrier(n);
        default:
            return never_waits(analysis.ops[n].kind);
    }
}

bool can_combine(const KernelAnalysis& analysis, const OpEffects& op) {
    using ptx::Atomic;
    const Register* const to =
        op.accesses.back().write ? analysis.at(op.accesses.back().offset) : nullptr;
    if ((to && to->is_read) || !is_integer_or_bits(op.origin.key.type)) return false;
    // The host may follow an update of the system's scope while the kernel runs.
    const auto scope = static_cast<ptx::Scope>(ptx::field::scope.get(op.origin.key.modifiers));
    if (scope == ptx::Scope::sys) return false;
    switch (static_cast<Atomic>(ptx::field::operation.get(op.origin.key.modifiers))) {
        case Atomic::add:
        case Atomic::min:
        case Atomic::max:
        case Atomic::and_:
        case Atomic::or_:
        case Atomic::xor_:
            return true;
        default:
            return false;
    }
}

bool is_same(const interpreter::Key& a, const interpreter::Key& b) {
    const auto operation = [](const interpreter::Key& key) {
        return ptx::field::operation.get(key.modifiers);
    };
    return a.type == b.type && operation(a) == operation(b);
}

// The blocks that may run after a block.
std::vector<bool> reachable(const KernelAnalysis& analysis, std::uint32_t from) {
    std::vector<bool> found(analysis.blocks.size(), false);
    std::vector<std::uint32_t> open = analysis.blocks[from].successors;
    while (!open.empty()) {
        const std::uint32_t b = open.back();
        open.pop_back();
        if (found[b]) continue;
        found[b] = true;
        const auto& next = analysis.blocks[b].successors;
        open.insert(open.end(), next.begin(), next.end());
    }
    return found;
}

}  // namespace

void find_deferred_updates(KernelAnalysis& analysis) {
    if (analysis.kernel.call_depth != 0) return;
    std::vector<std::uint32_t> updates;
    for (std::uint32_t n = 0; n < analysis.ops.size(); ++n) {
        const OpEffects& op = analysis.ops[n];
        if (!is_known(analysis, n)) return;
        if (op.kind != Kind::atomic || !is_of_global(op)) continue;
        if (!can_combine(analysis, op)) return;
        if (!updates.empty() && !is_same(analysis.ops[updates[0]].origin.key, op.origin.key))
            return;
        updates.push_back(n);
    }
    std::vector<bool> observes(analysis.ops.size(), false);
    for (const std::uint32_t n : updates) {
        analysis.ops[n].deferred = true;
        const std::uint32_t b = analysis.block_of[n];
        const std::vector<bool> later = reachable(analysis, b);
        for (std::uint32_t k = 0; k < analysis.ops.size(); ++k)
            observes[k] =
                observes[k] || later[analysis.block_of[k]] || (analysis.block_of[k] == b && k > n);
    }
    for (std::uint32_t n = 0; n < analysis.ops.size(); ++n) {
        const OpEffects& op = analysis.ops[n];
        if (observes[n] && (op.kind == Kind::load || op.kind == Kind::store) && is_of_global(op))
            analysis.observing_slots.push_back(analysis.kernel.code[n].slot);
    }
}

}  // namespace cupola::cpu::compiler
