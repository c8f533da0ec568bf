// csrc/ptx/straight_line.cpp - forms blocks, joins those that follow each other, finds dominators.
#include "ptx/straight_line.hpp"

#include <algorithm>

#include "ptx/contract_role.hpp"

namespace cupola::ptx {
namespace {

struct Block {
    std::uint32_t first = 0, end = 0;
    // The instruction begins a straight line, because the instruction before it ends a block.
    bool sealed = false;
    bool reached = false;
    std::uint32_t predecessors = 0, line = absent;
    std::vector<std::uint32_t> successors;
};

class Blocks {
  public:
    explicit Blocks(const Function& f) : f_(f) {
        form();
        for (std::uint32_t n = 0; n < list_.size() && !too_many(); ++n) connect(n);
        if (too_many()) list_.clear();
        reach();
    }

    StraightLines joined() {
        StraightLines lines;
        for (std::uint32_t n = 0; n < list_.size(); ++n)
            if (list_[n].reached && !continues(n)) {
                const auto line = static_cast<std::uint32_t>(lines.list.size());
                lines.list.emplace_back();
                for (std::uint32_t at = n;;) {
                    Block& b = list_[at];
                    b.line = line;
                    for (std::uint32_t i = b.first; i < b.end; ++i)
                        lines.list[line].code.push_back(i);
                    if (b.successors.size() == 1 && continues(b.successors[0])) {
                        at = b.successors[0];
                        continue;
                    }
                    lines.list[line].successors = b.successors;
                    break;
                }
            }
        for (StraightLine& line : lines.list)
            for (std::uint32_t& s : line.successors) s = list_[s].line;
        return lines;
    }

  private:
    static constexpr std::uint32_t most_hops = 8;

    // Many branches may share a long table.
    bool too_many() const { return edges_ > 16 * f_.code.size() + 100000; }

    ContractRole role(std::uint32_t i) const { return contract_role(f_.code[i]); }
    bool ends(std::uint32_t i) const {
        const ContractRole r = role(i);
        return r == ContractRole::branch || r == ContractRole::table_branch ||
               r == ContractRole::leave;
    }

    void form() {
        const auto count = static_cast<std::uint32_t>(f_.code.size());
        std::vector<bool> leader(count + 1), sealed(count + 1);
        leader[0] = true;
        for (const std::uint32_t at : f_.labels) leader[at] = true;
        for (std::uint32_t i = 0; i < count; ++i) {
            if (ends(i)) leader[i + 1] = true;
            if (splits_block(f_.code[i])) leader[i + 1] = sealed[i + 1] = true;
        }
        block_of_.assign(count + 1, absent);
        for (std::uint32_t i = 0; i < count; ++i) {
            if (leader[i]) {
                list_.emplace_back();
                list_.back().first = i;
                list_.back().sealed = sealed[i];
            }
            list_.back().end = i + 1;
            block_of_[i] = static_cast<std::uint32_t>(list_.size() - 1);
        }
    }

    // The block that control reaches from a label, through blocks that only branch. No block stands
    // behind the last instruction.
    std::uint32_t target(std::uint32_t at) const {
        for (std::uint32_t hops = 0; hops < most_hops && at < f_.code.size(); ++hops) {
            const Instruction& i = f_.code[at];
            if (contract_role(i) != ContractRole::branch || i.guard != absent) break;
            at = f_.labels[f_.operands[i.operand].index];
        }
        return block_of_[at];
    }

    void connect(std::uint32_t n) {
        Block& b = list_[n];
        const auto add = [&](std::uint32_t at) {
            const std::uint32_t to = target(at);
            if (to != absent) b.successors.push_back(to);
        };
        const std::uint32_t last = b.end - 1;
        const Instruction& i = f_.code[last];
        const ContractRole r = role(last);
        if (r == ContractRole::branch) add(f_.labels[f_.operands[i.operand].index]);
        if (r == ContractRole::table_branch)
            for (const std::uint32_t label : f_.tables[f_.operands[i.operand + 1].index])
                add(f_.labels[label]);
        if (!ends(last) || i.guard != absent) add(b.end);
        std::sort(b.successors.begin(), b.successors.end());
        b.successors.erase(std::unique(b.successors.begin(), b.successors.end()),
                           b.successors.end());
        edges_ += b.successors.size();
        // A guarded exit is a second way out of the block.
        if (r == ContractRole::leave && i.guard != absent && b.end < f_.code.size())
            list_[n + 1].sealed = true;
    }

    void reach() {
        if (list_.empty()) return;
        std::vector<std::uint32_t> stack{0};
        list_[0].reached = true;
        while (!stack.empty()) {
            const std::uint32_t n = stack.back();
            stack.pop_back();
            for (const std::uint32_t s : list_[n].successors) {
                ++list_[s].predecessors;
                if (list_[s].reached) continue;
                list_[s].reached = true;
                stack.push_back(s);
            }
        }
        list_[0].sealed = true;
        // Behind a branch, a block may be another's only successor and yet not its continuation.
        for (const Block& b : list_)
            if (b.successors.size() != 1)
                for (const std::uint32_t s : b.successors) list_[s].sealed = true;
    }

    // Whether a block runs only after one other block, and that block always leads to this one.
    bool continues(std::uint32_t n) const { return !list_[n].sealed && list_[n].predecessors == 1; }

    const Function& f_;
    std::vector<Block> list_;
    std::vector<std::uint32_t> block_of_;
    std::uint64_t edges_ = 0;
};

class Dominators {
  public:
    explicit Dominators(std::vector<StraightLine>& lines)
        : lines_(lines), place_(lines.size(), absent) {}

    bool find() {
        if (lines_.empty()) return true;
        number();
        std::vector<std::vector<std::uint32_t>> before(lines_.size());
        for (const std::uint32_t n : order_)
            for (const std::uint32_t s : lines_[n].successors) before[s].push_back(n);
        lines_[0].parent = 0;
        bool changed = true;
        for (int round = 0; changed; ++round) {
            if (round == most_rounds) return false;
            changed = false;
            for (const std::uint32_t n : order_) {
                if (n == 0) continue;
                std::uint32_t best = absent;
                for (const std::uint32_t p : before[n])
                    if (lines_[p].parent != absent) best = best == absent ? p : common(best, p);
                if (steps_ > 64 * lines_.size() + 100000) return false;
                changed |= best != lines_[n].parent;
                lines_[n].parent = best;
            }
        }
        for (const std::uint32_t n : order_)
            if (n != 0) lines_[n].depth = lines_[lines_[n].parent].depth + 1;
        return true;
    }

  private:
    static constexpr int most_rounds = 32;

    void number() {  // in reverse post-order
        std::vector<bool> seen(lines_.size());
        std::vector<std::pair<std::uint32_t, std::size_t>> stack{{0, 0}};
        seen[0] = true;
        while (!stack.empty()) {
            auto& [n, next] = stack.back();
            if (next == lines_[n].successors.size()) {
                order_.push_back(n);
                stack.pop_back();
                continue;
            }
            const std::uint32_t to = lines_[n].successors[next++];
            if (seen[to]) continue;
            seen[to] = true;
            stack.push_back({to, 0});
        }
        std::reverse(order_.begin(), order_.end());
        for (std::uint32_t n = 0; n < order_.size(); ++n) place_[order_[n]] = n;
    }

    std::uint32_t common(std::uint32_t a, std::uint32_t b) {
        while (a != b) {
            ++steps_;
            if (place_[a] > place_[b])
                a = lines_[a].parent;
            else
                b = lines_[b].parent;
        }
        return a;
    }

    std::vector<StraightLine>& lines_;
    std::vector<std::uint32_t> order_, place_;
    std::uint64_t steps_ = 0;
};

}  // namespace

bool StraightLines::dominates(std::uint32_t a, std::uint32_t b) const {
    if (!dominators) return false;
    for (std::uint32_t hops = 0; list[b].depth > list[a].depth; ++hops) {
        if (hops == 256) return false;
        b = list[b].parent;
    }
    return a == b;
}

StraightLines straight_lines(const Function& f) {
    StraightLines lines = Blocks(f).joined();
    lines.dominators = Dominators(lines.list).find();
    return lines;
}

}  // namespace cupola::ptx
