// csrc/cpu/passes/build_cfg.cpp - basic blocks, loops and liveness of decoded code.
//
// Decoded code is in reverse post order, so a loop is the range from its header to its last
// backward branch. Emitted code keeps this order: control moves forward through the blocks, and
// back to a header by `goto`. Warps enter at the start, and after each operation that waits. A loop
// with such an entry inside is not emitted as a loop, because the compiler would not vectorize a
// loop with two entries. Its backward branches pass the dispatch.
#include <algorithm>

#include "cpu/ir/kernel_analysis.hpp"

namespace cupola::cpu::compiler {

namespace {

// The analyses below take time proportional to products of blocks, edges and registers, several
// times. The bounds are far above compiled code.
constexpr std::size_t max_blocks = 8192, max_edges = std::size_t{1} << 18;

class WorkLimit {
  public:
    void spend(std::size_t cost) {
        if (cost > left_)
            throw UnsupportedKernel{"the analysis of its control flow takes too long"};
        left_ -= cost;
    }

  private:
    std::size_t left_ = std::size_t{1} << 28;
};

}  // namespace

void KernelAnalysis::build_cfg() {
    find_blocks();
    find_loops();
    find_liveness();
}

void KernelAnalysis::find_blocks() {
    const auto count = static_cast<std::uint32_t>(ops.size());
    std::vector<bool> leader(count + 1), entry(count + 1);
    leader[0] = entry[0] = true;
    for (std::uint32_t n = 0; n < count; ++n) {
        const OpEffects& op = ops[n];
        for (const std::uint32_t to : op.targets) {
            leader[to] = true;
            if (op.changes_flow) entry[to] = true;  // calls and brx
        }
        if (op.changes_flow || op.no_fallthrough || op.kind == Kind::join ||
            op.kind == Kind::branch)
            leader[n + 1] = true;
        if (op.may_retry) leader[n] = true;
        if (op.entry_after) entry[n + 1] = true;
    }
    for (const std::uint32_t to : returns_) leader[to] = entry[to] = true;
    block_of_.assign(count + 1, 0);
    for (std::uint32_t n = 0; n < count; ++n) {
        if (leader[n]) {
            if (ops[n].guarded || ops[n].kind == Kind::guard_end)
                throw UnsupportedKernel{"it branches into a guarded instruction"};
            blocks.emplace_back();
            blocks.back().first = n;
            blocks.back().entry = entry[n];
        }
        blocks.back().end = n + 1;
        block_of_[n] = static_cast<std::uint32_t>(blocks.size() - 1);
    }
    if (blocks.size() > max_blocks) throw UnsupportedKernel{"it has too many blocks"};
    std::size_t edges = 0;
    for (std::uint32_t b = 0; b < blocks.size(); ++b) {
        Block& block = blocks[b];
        const OpEffects& last = ops[block.end - 1];
        for (const std::uint32_t to : last.targets) block.successors.push_back(block_of_[to]);
        if (!last.no_fallthrough && b + 1 < blocks.size()) block.successors.push_back(b + 1);
        if (last.may_retry) block.successors.push_back(b);
        // A function returns to after any call.
        const bool returns = last.changes_flow && last.no_fallthrough && last.targets.empty();
        if (returns)
            for (const std::uint32_t to : returns_) block.successors.push_back(block_of_[to]);
        edges += block.successors.size();
        if (edges > max_edges) throw UnsupportedKernel{"it has too many branches"};
    }
}

// Finds the headers of loops that emitted code repeats by `goto`. Headers of other loops become
// entries.
void KernelAnalysis::find_loops() {
    const auto count = static_cast<std::uint32_t>(blocks.size());
    const auto static_branch = [&](std::uint32_t b) {
        const Kind kind = ops[blocks[b].end - 1].kind;
        return kind == Kind::jump || kind == Kind::branch;
    };
    for (std::uint32_t b = 0; b < count; ++b)
        if (static_branch(b))
            for (const std::uint32_t to : blocks[b].successors)
                if (to <= b) {
                    blocks[to].is_loop_header = true;
                    blocks[to].loop_end = std::max(blocks[to].loop_end, b);
                }
    WorkLimit work;
    for (bool changed = true; changed;) {
        changed = false;
        const auto give_up = [&](std::uint32_t head) {
            blocks[head].is_loop_header = false;
            blocks[head].entry = true;
            changed = true;
        };
        std::vector<std::uint32_t> open;
        for (std::uint32_t b = 0; b < count; ++b) {
            while (!open.empty() && blocks[open.back()].loop_end < b) open.pop_back();
            if (blocks[b].entry) {
                work.spend(open.size());
                for (const std::uint32_t head : open)
                    if (blocks[head].is_loop_header) give_up(head);
            }
            if (blocks[b].is_loop_header) {
                if (!open.empty() && blocks[open.back()].loop_end < blocks[b].loop_end) {
                    give_up(open.back());
                    give_up(b);
                } else {
                    open.push_back(b);
                }
            }
        }
        // Branches into a loop, not to its header.
        for (std::uint32_t b = 0; b < count && !changed; ++b)
            for (const std::uint32_t to : blocks[b].successors) {
                work.spend(to);
                for (std::uint32_t head = 0; head < to && to < count; ++head)
                    if (blocks[head].is_loop_header && to <= blocks[head].loop_end &&
                        (b < head || b > blocks[head].loop_end) && !blocks[to].entry)
                        give_up(head);
            }
    }
    std::vector<std::uint32_t> open;
    for (std::uint32_t b = 0; b < count; ++b) {
        while (!open.empty() && blocks[open.back()].loop_end < b) open.pop_back();
        // A warp whose time slice ends in a loop yields there. The outermost header may be an
        // entry, because no other loop contains it.
        if (blocks[b].is_loop_header && open.empty() && !blocks[b].entry)
            blocks[b].entry = blocks[b].yield_entry = true;
        if (blocks[b].is_loop_header) open.push_back(b);
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
                       [](const Block& block) { return block.entry && !block.yield_entry; });
}

// Iterates backwards over the blocks to a fixed point. A guarded write does not end the liveness of
// the old value.
void KernelAnalysis::find_liveness() {
    WorkLimit work;
    work.spend(blocks.size() * registers.size());  // the memory has the same bound
    std::vector<std::vector<bool>> read(blocks.size()), written(blocks.size());
    for (std::uint32_t b = 0; b < blocks.size(); ++b) {
        read[b].assign(registers.size(), false);
        written[b].assign(registers.size(), false);
        blocks[b].live.assign(registers.size(), false);
        for (std::uint32_t n = blocks[b].first; n < blocks[b].end; ++n) {
            for (const Access& access : ops[n].accesses) {
                if (access.write || access.offset == 0) continue;
                const std::uint32_t r = by_offset_.at(access.offset);
                if (!written[b][r]) read[b][r] = true;
            }
            for (const Access& access : ops[n].accesses)
                if (access.write && access.offset != 0 && !ops[n].guarded)
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
