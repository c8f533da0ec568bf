// csrc/cpu/debugger/stops.cpp - breakpoints and steps of a launch.
#include "cpu/debugger/session.hpp"

#include <algorithm>
#include <utility>

namespace cupola::cpu::debugger {

using interpreter::BlockState;
using interpreter::DecodedOp;
using interpreter::lanes;
using interpreter::Status;
using interpreter::Warp;

namespace {

// Stops before the instructions of a block.
class BlockStops final : public observe::BlockObserver {
  public:
    BlockStops(GridStops& grid, BlockState& block) : grid_(grid), block_(block) {}
    const DecodedOp* before(Warp& w, const DecodedOp* ip) override {
        return grid_.before(block_, w, ip);
    }

  private:
    GridStops& grid_;
    BlockState& block_;
};

}  // namespace

std::unique_ptr<observe::BlockObserver> GridStops::of_block(BlockState& block) {
    return std::make_unique<BlockStops>(*this, block);
}

GridStops::GridStops(Session& session, const Launch& running)
    : launch(running),
      kernel(static_cast<const interpreter::KernelCode&>(*running.kernel)),
      stepped(interpreter::stepped_code(kernel)),
      session_(session) {
    set_statements({});
    set_breakpoints({});
}

GridStops::~GridStops() {
    if (!silent_) session_.ended(*this);
}

// Without source lines, each line of the PTX is a statement.
void GridStops::set_statements(Statements statements) {
    statements_ = std::move(statements);
    if (!statements_.of_op.empty()) return;
    std::uint32_t before = 0;
    for (const DecodedOp& each : stepped->code) {
        statements_.of_op.push_back(each.line | (each.line != before ? Statements::begin : 0));
        before = each.line;
    }
    statements_.inlined.assign(stepped->code.size(), 0);
}

void GridStops::set_breakpoints(std::vector<Breakpoint> breakpoints) {
    breakpoints_ = std::move(breakpoints);
    marked_.assign(stepped->code.size(), false);
    for (const Breakpoint& b : breakpoints_) marked_[b.op] = true;
}

std::uint32_t GridStops::hit(const Breakpoint& b, const BlockState& block, const Warp& w) const {
    if (!b.any_block && !std::equal(b.block, b.block + 3, block.index_of_block)) return 0;
    if (b.any_thread) return w.mask;
    return b.thread / lanes == w.index ? w.mask & 1u << b.thread % lanes : 0;
}

bool GridStops::is_stepped(const BlockState& block) const {
    return step_.scope != Step::Scope::none && step_.block == &block &&
           std::equal(block.index_of_block, block.index_of_block + 3, step_.index_of_block);
}

Step::Position GridStops::position(const Warp& w, unsigned lane, std::uint32_t op) const {
    const std::uint32_t calls = kernel.call_depth != 0 && w.returns ? w.depth[lane] : 0;
    return {statements_.of_op[op] & ~Statements::begin, calls + statements_.inlined[op]};
}

void GridStops::begin_step(Step::Scope scope, bool into, bool leave, BlockState& block, Warp& w,
                           unsigned lane, const Warp& running) {
    step_ = {};
    step_.scope = scope;
    step_.into = into;
    step_.leave = leave;
    step_.block = &block;
    std::copy_n(block.index_of_block, 3, step_.index_of_block);
    step_.start.resize(block.warp_count);
    step_.pending.assign(block.warp_count, 0);
    for (unsigned n = 0; n < block.warp_count; ++n) {
        Warp& each = block.warp(n);
        auto& start = step_.start[n];
        const auto place = [&](std::uint32_t mask, const DecodedOp* at) {
            for (; mask != 0; mask &= mask - 1) {
                const auto k = static_cast<unsigned>(__builtin_ctz(mask));
                start[k] = position(each, k, index_of(at));
            }
        };
        if (each.status == Status::done) continue;
        start.fill({0, 0});
        if (each.registers) {
            for (unsigned k = 0; k < each.ready_count; ++k)
                place(each.ready[k].mask, each.ready[k].pc);
            for (unsigned k = 0; k < each.waiting_count; ++k)
                place(each.waiting[k].mask, each.waiting[k].code);
            if (each.status == Status::yielded || &each == &running)
                place(each.resume.mask, each.resume.pc);
        }
        step_.pending[n] = scope == Step::Scope::block ? each.live : 0;
    }
    if (scope == Step::Scope::lane) step_.pending[w.index] = 1u << lane;
    if (scope == Step::Scope::warp) step_.pending[w.index] = w.live;
}

std::uint32_t GridStops::pending(const Warp& w) const { return step_.pending[w.index] & w.live; }

// A warp that waits at a barrier waits for other warps; such a warp does not delay the step.
bool GridStops::others_pending(BlockState& block, const Warp& w) const {
    for (unsigned n = 0; n < block.warp_count; ++n) {
        const Warp& each = block.warp(n);
        const bool runs = each.status != Status::blocked && each.status != Status::done;
        if (&each != &w && runs && pending(each) != 0) return true;
    }
    return false;
}

void GridStops::note_progress(const Warp& w, std::uint32_t op) {
    std::uint32_t& left = step_.pending[w.index];
    for (std::uint32_t mask = w.mask & left; mask != 0; mask &= mask - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(mask));
        const Step::Position now = position(w, lane, op), &from = step_.start[w.index][lane];
        const bool moved = step_.leave
                               ? now.depth < from.depth
                               : begins(op) && (step_.into || now.depth <= from.depth) &&
                                     (now.statement != from.statement || now.depth != from.depth);
        if (moved) left &= ~(1u << lane);
    }
}

Reason GridStops::hits(const BlockState& block, const Warp& w, std::uint32_t op) const {
    Reason found;
    if (!marked_[op]) return found;
    for (const Breakpoint& b : breakpoints_)
        if (const std::uint32_t mask = b.op == op ? hit(b, block, w) : 0) {
            found.kind = Reason::Kind::breakpoint;
            found.breakpoints.push_back(b.id);
            found.lanes |= mask;
        }
    return found;
}

Reason GridStops::step_end(BlockState& block, const Warp& w, std::uint32_t op) {
    if (begins(op) && session_.take_pause()) return {Reason::Kind::pause, {}, w.mask};
    if (!is_stepped(block)) return {};
    const std::uint32_t before = pending(w);
    note_progress(w, op);
    bool left = false;
    for (unsigned n = 0; n < block.warp_count; ++n) left |= pending(block.warp(n)) != 0;
    // Where a lane has exited, its step is made in another lane.
    const std::uint32_t made = before & ~pending(w);
    if (!left && (made != 0 || begins(op)))
        return {Reason::Kind::step, {}, made != 0 ? made : w.mask};
    return {};
}

// False: the launch ends. A breakpoint that the front end passes does not end a step.
bool GridStops::stop(BlockState& block, Warp& w, const DecodedOp* ip, const Reason& why) {
    if (why.kind == Reason::Kind::none) return true;
    w.resume = {w.mask, ip};
    Step step = std::move(step_);
    step_ = {};
    const Outcome outcome = session_.stop(*this, block, w, ip, why);
    if (outcome == Outcome::pass) step_ = std::move(step);
    return outcome != Outcome::end;
}

const DecodedOp* GridStops::before(BlockState& block, Warp& w, const DecodedOp* ip) {
    constexpr std::uint32_t poll_interval = 4096;
    session_.wait_while_stopped();
    if (++executed_ % poll_interval == 0) session_.poll();
    for (;;) {
        const std::uint32_t op = index_of(ip);
        if (!stop(block, w, ip, hits(block, w, op)) ||
            !stop(block, w, ip, step_end(block, w, op))) {
            block.fault(w, ip, Fault::Kind::trap, static_cast<unsigned>(__builtin_ctz(w.mask)),
                        "the debugger ended the launch", 0);
            return interpreter::stop_faulted(w);
        }
        // Lanes that have made their step wait for the other lanes of the step.
        const bool waits = is_stepped(block) && step_.scope != Step::Scope::lane && begins(op) &&
                           (pending(w) & w.mask) == 0;
        if (!waits) return ip;
        const DecodedOp* const other = interpreter::run_group(w, ip, pending(w));
        if (!other) {
            if (step_.scope == Step::Scope::warp || !others_pending(block, w)) return ip;
            w.resume = {w.mask, ip};
            w.status = Status::yielded;
            w.mask = 0;
            return &interpreter::halt;
        }
        ip = other;
    }
}

}  // namespace cupola::cpu::debugger
