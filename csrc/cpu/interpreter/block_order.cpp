// csrc/cpu/interpreter/block_order.cpp - dominators, natural loops, and the order of blocks.
#include "cpu/interpreter/block_order.hpp"

#include <algorithm>

namespace cupola::cpu::interpreter {
namespace {

constexpr std::uint32_t none = 0xffffffffu;

// Depth-first from block 0; `first` lists extra successors to visit before the real ones.
std::vector<std::uint32_t> reverse_post_order(
    const std::vector<BasicBlock>& blocks, const std::vector<std::vector<std::uint32_t>>& first) {
    std::vector<std::uint32_t> out;
    std::vector<bool> seen(blocks.size());
    std::vector<std::pair<std::uint32_t, std::uint32_t>> stack{{0, 0}};
    seen[0] = true;
    while (!stack.empty()) {
        auto& [block, next] = stack.back();
        const auto& extra = first[block];
        const auto& real = blocks[block].successors;
        if (next == extra.size() + real.size()) {
            out.push_back(block);
            stack.pop_back();
            continue;
        }
        // The fall-through is the last successor and is visited last, so that it directly follows
        // its block.
        const std::uint32_t to = next < extra.size() ? extra[next] : real[next - extra.size()];
        ++next;
        if (seen[to]) continue;
        seen[to] = true;
        stack.push_back({to, 0});
    }
    std::reverse(out.begin(), out.end());
    return out;
}

class Loops {
  public:
    Loops(const std::vector<BasicBlock>& blocks, const std::vector<std::uint32_t>& rpo)
        : blocks_(blocks), rpo_(rpo), place_(blocks.size(), none), before_(blocks.size()) {
        for (std::uint32_t i = 0; i < rpo.size(); ++i) place_[rpo[i]] = i;
        for (const std::uint32_t b : rpo)
            for (const std::uint32_t s : blocks[b].successors) before_[s].push_back(b);
    }

    // For each loop header, the blocks that the loop exits to. Gives up on hostile graphs.
    std::vector<std::vector<std::uint32_t>> exits() {
        std::vector<std::vector<std::uint32_t>> out(blocks_.size());
        if (!dominators()) return out;
        std::uint64_t work = 0;
        std::vector<std::uint32_t> mark(blocks_.size(), none), body;
        for (const std::uint32_t head : rpo_) {
            body.clear();
            if (too_long()) return out;
            for (const std::uint32_t tail : before_[head])
                if (dominates(head, tail)) collect(head, tail, mark, body);
            work += body.size();
            if (work > 64 * blocks_.size() + 100000) return out;
            for (const std::uint32_t b : body)
                for (const std::uint32_t s : blocks_[b].successors)
                    if (mark[s] != head) out[head].push_back(s);
        }
        return out;
    }

  private:
    bool dominators() {
        idom_.assign(blocks_.size(), none);
        idom_[0] = 0;
        bool changed = true;
        for (int pass = 0; changed; ++pass) {
            if (pass == 32) return false;
            changed = false;
            for (const std::uint32_t b : rpo_) {
                if (b == 0) continue;
                if (too_long()) return false;
                std::uint32_t best = none;
                for (const std::uint32_t p : before_[b])
                    if (idom_[p] != none) best = best == none ? p : common(best, p);
                if (best != idom_[b]) {
                    idom_[b] = best;
                    changed = true;
                }
            }
        }
        depth_.assign(blocks_.size(), 0);
        for (const std::uint32_t b : rpo_)
            if (b != 0) depth_[b] = depth_[idom_[b]] + 1;
        return true;
    }

    std::uint32_t common(std::uint32_t a, std::uint32_t b) {
        while (a != b) {
            ++steps_;
            while (place_[a] > place_[b]) a = idom_[a], ++steps_;
            while (place_[b] > place_[a]) b = idom_[b], ++steps_;
        }
        return a;
    }
    bool too_long() const { return steps_ > 400 * blocks_.size() + 1000000; }

    bool dominates(std::uint32_t a, std::uint32_t b) {
        if (place_[a] > place_[b]) return false;
        while (depth_[b] > depth_[a]) b = idom_[b], ++steps_;
        return a == b;
    }

    void collect(std::uint32_t head, std::uint32_t tail, std::vector<std::uint32_t>& mark,
                 std::vector<std::uint32_t>& body) {
        std::size_t at = body.size();
        const auto add = [&](std::uint32_t b) {
            if (mark[b] == head) return;
            mark[b] = head;
            body.push_back(b);
        };
        add(head);
        add(tail);
        for (; at < body.size(); ++at)
            if (body[at] != head)
                for (const std::uint32_t p : before_[body[at]]) add(p);
    }

    const std::vector<BasicBlock>& blocks_;
    const std::vector<std::uint32_t>& rpo_;
    std::vector<std::uint32_t> place_, idom_, depth_;
    std::vector<std::vector<std::uint32_t>> before_;
    std::uint64_t steps_ = 0;
};

}  // namespace

std::vector<std::uint32_t> order(const std::vector<BasicBlock>& blocks) {
    if (blocks.empty()) return {};
    std::vector<std::vector<std::uint32_t>> extra(blocks.size());
    std::vector<std::uint32_t> rpo = reverse_post_order(blocks, extra);
    if (rpo.size() < 3) return rpo;
    extra = Loops(blocks, rpo).exits();
    return reverse_post_order(blocks, extra);
}

bool has_loop(const std::vector<BasicBlock>& blocks, const std::vector<std::uint32_t>& ordered) {
    std::vector<std::size_t> position(blocks.size());
    for (std::size_t n = 0; n < ordered.size(); ++n) position[ordered[n]] = n;
    return std::any_of(ordered.begin(), ordered.end(), [&](std::uint32_t b) {
        const std::vector<std::uint32_t>& to = blocks[b].successors;
        return std::any_of(to.begin(), to.end(), [&](std::uint32_t next) {
            return next < blocks.size() && position[next] <= position[b];
        });
    });
}

}  // namespace cupola::cpu::interpreter
