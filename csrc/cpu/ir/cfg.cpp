// csrc/cpu/ir/cfg.cpp - blocks, loops and liveness of decoded code.
//
// DecodedOp lies in reverse post order, so a loop is a stretch from its head to the last branch
// back. Printed code keeps that: lanes go forward through the blocks, back to a head by `goto`.
// Machine code is entered at its beginning and behind what waits; a compiler's loop must not be
// entered but at its head (it would not make vector code of what is in it), so a loop with an entry
// inside goes round by way of the one dispatch.
#include <algorithm>

#include "cpu/ir/kernel_analysis.hpp"

namespace cupola::cpu::compiler {

namespace {

// What follows takes time by the product of two of blocks, edges and registers, again and again:
// that has a bound, which code that a compiler wrote is far from.
constexpr std::size_t max_blocks = 8192, max_edges = std::size_t{1} << 18;

class Work {
  public:
    void spend(std::size_t steps) {
        if (steps > left_) throw Unprintable{"the analysis of its control flow takes too long"};
        left_ -= steps;
    }

  private:
    std::size_t left_ = std::size_t{1} << 28;
};

}  // namespace

void KernelAnalysis::find_blocks() {
    const auto count = static_cast<std::uint32_t>(steps.size());
    std::vector<bool> leader(count + 1), entry(count + 1);
    leader[0] = entry[0] = true;
    for (std::uint32_t n = 0; n < count; ++n) {
        const OpEffects& step = steps[n];
        for (const std::uint32_t to : step.targets) {
            leader[to] = true;
            if (step.flows) entry[to] = true;  // calls and brx
        }
        if (step.flows || step.ends || step.kind == Kind::join || step.kind == Kind::branch)
            leader[n + 1] = true;
        if (step.retried) leader[n] = true;
        if (step.entered) entry[n + 1] = true;
    }
    for (const std::uint32_t to : returns_) leader[to] = entry[to] = true;
    block_of_.assign(count + 1, 0);
    for (std::uint32_t n = 0; n < count; ++n) {
        if (leader[n]) {
            if (steps[n].guarded || steps[n].kind == Kind::guard_end)
                throw Unprintable{"it branches into a guarded instruction"};
            blocks.emplace_back();
            blocks.back().first = n;
            blocks.back().entry = entry[n];
        }
        blocks.back().end = n + 1;
        block_of_[n] = static_cast<std::uint32_t>(blocks.size() - 1);
    }
    if (blocks.size() > max_blocks) throw Unprintable{"it has too many blocks"};
    std::size_t edges = 0;
    for (std::uint32_t b = 0; b < blocks.size(); ++b) {
        Block& block = blocks[b];
        const OpEffects& last = steps[block.end - 1];
        for (const std::uint32_t to : last.targets) block.successors.push_back(block_of_[to]);
        if (!last.ends && b + 1 < blocks.size()) block.successors.push_back(b + 1);
        if (last.retried) block.successors.push_back(b);
        // Where a function returns to depends on who called it.
        const bool returns = last.flows && last.ends && last.targets.empty();
        if (returns)
            for (const std::uint32_t to : returns_) block.successors.push_back(block_of_[to]);
        edges += block.successors.size();
        if (edges > max_edges) throw Unprintable{"it has too many branches"};
    }
}

// Heads of loops that printed code may go round by `goto`; the heads of others become entries.
void KernelAnalysis::find_loops() {
    const auto count = static_cast<std::uint32_t>(blocks.size());
    const auto static_branch = [&](std::uint32_t b) {
        const Kind kind = steps[blocks[b].end - 1].kind;
        return kind == Kind::jump || kind == Kind::branch;
    };
    for (std::uint32_t b = 0; b < count; ++b)
        if (static_branch(b))
            for (const std::uint32_t to : blocks[b].successors)
                if (to <= b) {
                    blocks[to].head = true;
                    blocks[to].loop_end = std::max(blocks[to].loop_end, b);
                }
    Work work;
    for (bool changed = true; changed;) {
        changed = false;
        const auto give_up = [&](std::uint32_t head) {
            blocks[head].head = false;
            blocks[head].entry = true;
            changed = true;
        };
        std::vector<std::uint32_t> open;
        for (std::uint32_t b = 0; b < count; ++b) {
            while (!open.empty() && blocks[open.back()].loop_end < b) open.pop_back();
            if (blocks[b].entry) {
                work.spend(open.size());
                for (const std::uint32_t head : open)
                    if (blocks[head].head) give_up(head);
            }
            if (blocks[b].head) {
                if (!open.empty() && blocks[open.back()].loop_end < blocks[b].loop_end) {
                    give_up(open.back());
                    give_up(b);
                } else {
                    open.push_back(b);
                }
            }
        }
        // Branches into a loop past its head.
        for (std::uint32_t b = 0; b < count && !changed; ++b)
            for (const std::uint32_t to : blocks[b].successors) {
                work.spend(to);
                for (std::uint32_t head = 0; head < to && to < count; ++head)
                    if (blocks[head].head && to <= blocks[head].loop_end &&
                        (b < head || b > blocks[head].loop_end) && !blocks[to].entry)
                        give_up(head);
            }
    }
    std::vector<std::uint32_t> open;
    for (std::uint32_t b = 0; b < count; ++b) {
        while (!open.empty() && blocks[open.back()].loop_end < b) open.pop_back();
        // Where a turn ends in a loop: the outermost head is no way into another loop.
        if (blocks[b].head && open.empty() && !blocks[b].entry)
            blocks[b].entry = blocks[b].resumed = true;
        if (blocks[b].head) open.push_back(b);
        blocks[b].loop = open.empty() ? -1 : static_cast<std::int32_t>(open.back());
    }
}

std::vector<std::uint32_t> KernelAnalysis::entries() const {
    std::vector<std::uint32_t> out;
    for (const Block& block : blocks)
        if (block.entry) out.push_back(block.first);
    return out;
}

bool KernelAnalysis::waits() const {
    return std::any_of(blocks.begin() + 1, blocks.end(),
                       [](const Block& block) { return block.entry && !block.resumed; });
}

// Backwards over each block until nothing changes. A guarded write leaves the others' values.
void KernelAnalysis::find_live() {
    Work work;
    work.spend(blocks.size() * registers.size());  // of memory, too
    std::vector<std::vector<bool>> read(blocks.size()), written(blocks.size());
    for (std::uint32_t b = 0; b < blocks.size(); ++b) {
        read[b].assign(registers.size(), false);
        written[b].assign(registers.size(), false);
        blocks[b].live.assign(registers.size(), false);
        for (std::uint32_t n = blocks[b].first; n < blocks[b].end; ++n) {
            for (const Access& access : steps[n].accesses) {
                if (access.write || access.offset == 0) continue;
                const std::uint32_t r = by_offset_.at(access.offset);
                if (!written[b][r]) read[b][r] = true;
            }
            for (const Access& access : steps[n].accesses)
                if (access.write && access.offset != 0 && !steps[n].guarded)
                    written[b][by_offset_.at(access.offset)] = true;
        }
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (auto b = static_cast<std::uint32_t>(blocks.size()); b-- > 0;) {
            work.spend((blocks[b].successors.size() + 1) * registers.size());
            std::vector<bool> live = read[b];
            for (const std::uint32_t to : blocks[b].successors)
                for (std::uint32_t r = 0; r < registers.size(); ++r)
                    if (blocks[to].live[r] && !written[b][r]) live[r] = true;
            if (live == blocks[b].live) continue;
            blocks[b].live = std::move(live);
            changed = true;
        }
    }
    for (const Block& block : blocks)
        for (std::uint32_t r = 0; r < registers.size(); ++r)
            if (block.live[r]) registers[r].live_across_blocks = true;
}

}  // namespace cupola::cpu::compiler
