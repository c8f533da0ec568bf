// csrc/cpu/analysis/build_cfg.cpp - basic blocks, loops and liveness of decoded code.
//
// Decoded code is in reverse post order, so a loop is the range from its header to its last
// backward branch. Emitted code keeps this order: control moves forward through the blocks, and
// back to a header by `goto`. Warps enter at the start, and after each operation that waits. A loop
// with such an entry inside is not emitted as a loop, because the compiler would not vectorize a
// loop with two entries. Its backward branches pass the dispatch.
#include <algorithm>
#include <utility>

#include "cpu/analysis/passes.hpp"

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

void find_blocks(KernelAnalysis& analysis) {
    const auto count = static_cast<std::uint32_t>(analysis.ops.size());
    std::vector<bool> leader(count + 1), entry(count + 1);
    leader[0] = entry[0] = true;
    for (std::uint32_t n = 0; n < count; ++n) {
        const OpEffects& op = analysis.ops[n];
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
    for (const std::uint32_t to : analysis.returns) leader[to] = entry[to] = true;
    analysis.block_of.assign(count + 1, 0);
    for (std::uint32_t n = 0; n < count; ++n) {
        if (leader[n]) {
            if (analysis.ops[n].guarded || analysis.ops[n].kind == Kind::guard_end)
                throw UnsupportedKernel{"it branches into a guarded instruction"};
            analysis.blocks.emplace_back();
            analysis.blocks.back().first = n;
            analysis.blocks.back().entry = entry[n];
        }
        analysis.blocks.back().end = n + 1;
        analysis.block_of[n] = static_cast<std::uint32_t>(analysis.blocks.size() - 1);
    }
    if (analysis.blocks.size() > max_blocks)
        throw UnsupportedKernel{"it has too many analysis.blocks"};
    std::size_t edges = 0;
    for (std::uint32_t b = 0; b < analysis.blocks.size(); ++b) {
        Block& block = analysis.blocks[b];
        const OpEffects& last = analysis.ops[block.end - 1];
        for (const std::uint32_t to : last.targets)
            block.successors.push_back(analysis.block_of[to]);
        if (!last.no_fallthrough && b + 1 < analysis.blocks.size())
            block.successors.push_back(b + 1);
        if (last.may_retry) block.successors.push_back(b);
        // A function may return to the operation after any call.
        const bool returns = last.changes_flow && last.no_fallthrough && last.targets.empty();
        if (returns)
            for (const std::uint32_t to : analysis.returns)
                block.successors.push_back(analysis.block_of[to]);
        edges += block.successors.size();
        if (edges > max_edges) throw UnsupportedKernel{"it has too many branches"};
    }
}

// Finds the headers of loops that emitted code repeats by `goto`. Headers of other loops become
// entries.
void find_loops(KernelAnalysis& analysis) {
    const auto count = static_cast<std::uint32_t>(analysis.blocks.size());
    const auto static_branch = [&](std::uint32_t b) {
        const Kind kind = analysis.ops[analysis.blocks[b].end - 1].kind;
        return kind == Kind::jump || kind == Kind::branch;
    };
    for (std::uint32_t b = 0; b < count; ++b)
        if (static_branch(b))
            for (const std::uint32_t to : analysis.blocks[b].successors)
                if (to <= b) {
                    analysis.blocks[to].is_loop_header = true;
                    analysis.blocks[to].loop_end = std::max(analysis.blocks[to].loop_end, b);
                }
    WorkLimit work;
    for (bool changed = true; changed;) {
        changed = false;
        const auto give_up = [&](std::uint32_t head) {
            analysis.blocks[head].is_loop_header = false;
            analysis.blocks[head].entry = true;
            changed = true;
        };
        std::vector<std::uint32_t> open;
        for (std::uint32_t b = 0; b < count; ++b) {
            while (!open.empty() && analysis.blocks[open.back()].loop_end < b) open.pop_back();
            if (analysis.blocks[b].entry) {
                work.spend(open.size());
                for (const std::uint32_t head : open)
                    if (analysis.blocks[head].is_loop_header) give_up(head);
            }
            if (analysis.blocks[b].is_loop_header) {
                if (!open.empty() &&
                    analysis.blocks[open.back()].loop_end < analysis.blocks[b].loop_end) {
                    give_up(open.back());
                    give_up(b);
                } else {
                    open.push_back(b);
                }
            }
        }
        // Finds branches that enter a loop at another block than its header.
        for (std::uint32_t b = 0; b < count && !changed; ++b)
            for (const std::uint32_t to : analysis.blocks[b].successors) {
                work.spend(to);
                for (std::uint32_t head = 0; head < to && to < count; ++head)
                    if (analysis.blocks[head].is_loop_header &&
                        to <= analysis.blocks[head].loop_end &&
                        (b < head || b > analysis.blocks[head].loop_end) &&
                        !analysis.blocks[to].entry)
                        give_up(head);
            }
    }
    std::vector<std::uint32_t> open;
    for (std::uint32_t b = 0; b < count; ++b) {
        while (!open.empty() && analysis.blocks[open.back()].loop_end < b) open.pop_back();
        // A warp whose time slice ends in a loop yields at the loop's header. The header of an
        // outermost loop may be an entry, because no other loop contains that loop.
        if (analysis.blocks[b].is_loop_header && open.empty() && !analysis.blocks[b].entry)
            analysis.blocks[b].entry = analysis.blocks[b].yield_entry = true;
        if (analysis.blocks[b].is_loop_header) open.push_back(b);
        analysis.blocks[b].loop = open.empty() ? -1 : static_cast<std::int32_t>(open.back());
    }
}

// A set of registers in whole words: the sets of a kernel with many calls are large.
class RegisterSet {
  public:
    explicit RegisterSet(std::size_t registers) : words_(registers / 64 + 1) {}
    void add(std::uint32_t r) { words_[r / 64] |= std::uint64_t{1} << r % 64; }
    bool has(std::uint32_t r) const { return (words_[r / 64] >> r % 64 & 1) != 0; }
    void add_all(const RegisterSet& more, const RegisterSet& except) {
        for (std::size_t n = 0; n < words_.size(); ++n)
            words_[n] |= more.words_[n] & ~except.words_[n];
    }
    bool operator==(const RegisterSet& other) const { return words_ == other.words_; }

  private:
    std::vector<std::uint64_t> words_;
};

// Iterates backwards over the blocks to a fixed point. A guarded write does not end the liveness of
// the old value.
void find_liveness(KernelAnalysis& analysis) {
    const std::size_t registers = analysis.registers.size();
    WorkLimit work;
    work.spend(analysis.blocks.size() * registers);  // the memory of the sets has the same bound
    std::vector<RegisterSet> read(analysis.blocks.size(), RegisterSet(registers));
    std::vector<RegisterSet> written = read, live = read;
    for (std::uint32_t b = 0; b < analysis.blocks.size(); ++b) {
        for (std::uint32_t n = analysis.blocks[b].first; n < analysis.blocks[b].end; ++n) {
            for (const Access& access : analysis.ops[n].accesses) {
                if (access.write || access.offset == 0) continue;
                const std::uint32_t r = analysis.index_at(access.offset);
                if (!written[b].has(r)) read[b].add(r);
            }
            for (const Access& access : analysis.ops[n].accesses)
                if (access.write && access.offset != 0 && !analysis.ops[n].guarded)
                    written[b].add(analysis.index_at(access.offset));
        }
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (auto b = static_cast<std::uint32_t>(analysis.blocks.size()); b-- > 0;) {
            work.spend((analysis.blocks[b].successors.size() + 1) * registers);
            RegisterSet now = read[b];
            for (const std::uint32_t to : analysis.blocks[b].successors)
                now.add_all(live[to], written[b]);
            if (now == live[b]) continue;
            live[b] = std::move(now);
            changed = true;
        }
    }
    for (std::uint32_t b = 0; b < analysis.blocks.size(); ++b) {
        analysis.blocks[b].live.assign(registers, false);
        for (std::uint32_t r = 0; r < registers; ++r) analysis.blocks[b].live[r] = live[b].has(r);
    }
    for (const Block& block : analysis.blocks)
        for (std::uint32_t r = 0; r < analysis.registers.size(); ++r)
            if (block.live[r]) analysis.registers[r].live_across_blocks = true;
}

}  // namespace

void build_cfg(KernelAnalysis& analysis) {
    find_blocks(analysis);
    find_loops(analysis);
    find_liveness(analysis);
}

}  // namespace cupola::cpu::compiler
