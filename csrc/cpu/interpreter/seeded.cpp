// csrc/cpu/interpreter/seeded.cpp - runs blocks, warps and lanes in a seeded order.
//
// Instructions run one by one, as under the checks. An instruction of PTX is never interrupted: its
// operations have one line.
#include "cpu/interpreter/seeded.hpp"

#include "cpu/base/seeded_order.hpp"
#include "cpu/interpreter/divergence.hpp"
#include "cpu/interpreter/stepped_code.hpp"

namespace cupola::cpu::interpreter {

// Runs one time slice of one block.
ClusterRunner::Progress SeededCluster::advance() {
    const auto count = static_cast<std::uint32_t>(blocks_.size());
    const std::uint32_t first = launch().order->below(count);
    bool moved = false, live = false;
    for (std::uint32_t n = 0; n < count; ++n) {
        BlockState& block = *blocks_[(first + n) % count];
        if (!moved && !block.done()) {
            const BlockState::Turn turn = block.seeded_turn();
            if (turn == BlockState::Turn::faulted) {
                fault_ = block.take_fault();
                return Progress::faulted;
            }
            moved = turn == BlockState::Turn::moved;
        }
        live |= !block.done();
    }
    return progress_of(moved, live);
}

// A sleeping warp is ready: an order does not depend on time.
BlockState::Turn BlockState::seeded_turn() {
    SeededOrder& order = *launch_.order;
    while (sequence_.size() < warp_count)
        sequence_.insert(
            sequence_.begin() + order.below(static_cast<unsigned>(sequence_.size() + 1)),
            static_cast<unsigned>(sequence_.size()));
    for (unsigned n = 0; n < warp_count; ++n) {
        const unsigned index = sequence_[n];
        Warp& w = warps_.get()[index];
        if (w.status == Status::done || w.status == Status::blocked) continue;
        w.wake = 0;
        if (!w.registers) start(w, index);
        sequence_.erase(sequence_.begin() + n);
        sequence_.insert(sequence_.begin() + order.place_after_turn(warp_count), index);
        enter(w);
        if (fault_ || (done() && leaks_columns())) return Turn::faulted;
        if (w.status == Status::done) free_files_.push_back(w.registers);
        if (done()) {
            notify([](auto& each) { each.end(); });
            sequence_.clear();
        }
        return Turn::moved;
    }
    return Turn::stuck;
}

void BlockState::run_seeded(const DecodedOp* ip) {
    SeededOrder& order = *launch_.order;
    Warp& w = *running_warp;
    const auto& effects = stepped_->effects;
    // A predicated access has its mask in an operation before it.
    const auto accesses = [&](const DecodedOp* op) {
        const auto at = static_cast<std::size_t>(op - code_);
        const auto kind = effects[at + (op->pseudo == Pseudo::guard_begin ? 1 : 0)].kind;
        return kind != Effect::Kind::none;
    };
    bool guarded = false;  // a predicate masks lanes of the current instruction
    while (ip && ip != &halt && begin_step(w, ip)) {
        const unsigned groups = w.ready_count;
        const DecodedOp* const next = step(ip, w);
        if (ip->pseudo == Pseudo::guard_begin) guarded = true;
        if (ip->pseudo == Pseudo::guard_end || next != ip + 1) guarded = false;
        const bool whole = next && next != &halt && !guarded && next->line != ip->line;
        ip = next;
        if (!whole) continue;
        // Interrupted lanes may wait at any instruction, not only where branches join.
        if (ip >= w.limit) ip = arrive(w, ip);
        if ((accesses(ip) || w.ready_count > groups) && order.interrupts()) ip = interrupt(w, ip);
    }
}

}  // namespace cupola::cpu::interpreter
