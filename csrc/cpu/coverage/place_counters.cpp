// csrc/cpu/coverage/place_counters.cpp - places the counters of each function.
//
// One counter counts the lines of a basic block: its lanes execute all of them. After a call, which
// lanes may not return from, another one begins. Compilers add jumps and copies at the borders of
// blocks without a .loc of their own; these say nothing about a line.
#include <algorithm>

#include "cpu/coverage/plan.hpp"
#include "cpu/interpreter/block_order.hpp"

namespace cupola::cpu::coverage {
namespace {

using interpreter::BasicBlock;
using ptx::Opcode;

constexpr int max_jumps = 64;

class Placement {
  public:
    Placement(const ptx::Module& module, const ptx::LineTable& lines, const ptx::Function& f)
        : module_(module), lines_(lines), f_(f), blocks_(interpreter::basic_blocks(f, block_of_)) {}

    FunctionPlan plan() {
        plan_.name = f_.name;
        plan_.entry = f_.entry;
        find_first_sites();
        for (const std::uint32_t b : interpreter::order(blocks_)) place(b);
        // Counters of one instruction stay in the order of their words.
        std::sort(plan_.counters.begin(), plan_.counters.end(),
                  [](const Counter& a, const Counter& b) {
                      return a.instruction != b.instruction ? a.instruction < b.instruction
                                                            : a.word < b.word;
                  });
        return std::move(plan_);
    }

  private:
    void add(Counter::Kind kind, std::uint32_t instruction, std::vector<Site> sites,
             std::vector<Site> sides, std::uint32_t words) {
        plan_.counters.push_back(
            {kind, instruction, plan_.words, std::move(sites), std::move(sides)});
        plan_.words += words;
    }

    void place(std::uint32_t b) {
        const BasicBlock& block = blocks_[b];
        std::vector<Site> sites;
        std::uint32_t start = block.first;
        const auto finish = [&](std::uint32_t end) {
            std::sort(sites.begin(), sites.end());
            sites.erase(std::unique(sites.begin(), sites.end()), sites.end());
            if (!sites.empty()) add(Counter::Kind::lines, start, std::move(sites), {}, 2);
            sites.clear();
            start = end;
        };
        for (std::uint32_t i = block.first; i < block.end; ++i) {
            if (const Site site = site_of(i); i >= borders_[b] && site.line != 0)
                sites.push_back(site);
            if (f_.code[i].form.opcode() == Opcode::call && may_lose_lanes(f_.code[i]))
                finish(i + 1);
        }
        finish(block.end);
        if (block.first != block.end) place_branch(block);
    }

    void place_branch(const BasicBlock& block) {
        const std::uint32_t last = block.end - 1;
        const ptx::Instruction& i = f_.code[last];
        const Site site = site_of(last);
        const bool guarded = i.guard != ptx::absent;
        if (site.line == 0) return;
        if (i.form.opcode() == Opcode::bra && guarded)
            add(Counter::Kind::branch, last, {site},
                {side_of(site, label_of(i)), side_of(site, block_of_[block.end])}, 3);
        if (i.form.opcode() != Opcode::brx_idx || guarded) return;
        std::vector<Site> sides;
        for (const std::uint32_t label : f_.tables[f_.operands[i.operand + 1].index])
            sides.push_back(side_of(site, block_of_[f_.labels[label]]));
        const auto count = static_cast<std::uint32_t>(sides.size());
        add(Counter::Kind::table, last, {site}, std::move(sides), count);
    }

    // Functions of the device runtime return to all lanes.
    bool may_lose_lanes(const ptx::Instruction& i) const {
        const ptx::Call& call = f_.calls[i.call];
        return call.pointer != ptx::absent || module_.functions[call.function].defined;
    }

    std::uint32_t label_of(const ptx::Instruction& i) const {
        return block_of_[f_.labels[f_.operands[i.operand].index]];
    }

    static bool is_parameter_store(const ptx::Instruction& i) {
        return i.form.opcode() == Opcode::st &&
               static_cast<ptx::Space>(ptx::field::space.get(i.modifiers)) == ptx::Space::param;
    }

    // The first instruction of a block that is no copy and no jump without a .loc.
    std::uint32_t border_of(const BasicBlock& block) const {
        std::uint32_t i = block.first;
        const std::uint32_t before = i == 0 ? 0 : f_.code[i - 1].line;
        for (; i < block.end; ++i) {
            const ptx::Instruction& each = f_.code[i];
            const Opcode opcode = each.form.opcode();
            const ptx::LineTable::Place* const place = lines_.at(each.line);
            const bool own = block.first == 0 || (place && place->ptx_line > before);
            const bool returns = opcode == Opcode::ret || is_parameter_store(each);
            if (own || each.guard != ptx::absent ||
                (opcode != Opcode::mov && opcode != Opcode::bra && !returns))
                break;
        }
        return i;
    }

    Site site_of(std::uint32_t i) const {
        const ptx::LineTable::Place* const place = lines_.at(f_.code[i].line);
        return place && place->line != 0 ? Site{place->scope, place->file, place->line} : Site();
    }

    void find_first_sites() {
        for (const BasicBlock& block : blocks_) {
            borders_.push_back(border_of(block));
            Site first;
            bool alone = true;
            for (std::uint32_t i = borders_.back(); i < block.end; ++i) {
                const Site site = site_of(i);
                if (first.line == 0) first = site;
                alone &= site.line == 0 || site == first;
            }
            firsts_.push_back(first);
            alone_.push_back(alone);
        }
    }

    // The first line other than the branch's where control goes on from the start of block b. None
    // if the function ends before.
    Site side_of(const Site& branch, std::uint32_t b) const {
        for (int jumps = 0; jumps < max_jumps; ++jumps) {
            const Site& first = firsts_[b];
            const bool passes = first.line == 0 || (first == branch && alone_[b]);
            if (!passes) return first;
            if (blocks_[b].successors.size() != 1)
                return blocks_[b].successors.empty() ? Site() : first;
            b = blocks_[b].successors[0];
        }
        return {};
    }

    const ptx::Module& module_;
    const ptx::LineTable& lines_;
    const ptx::Function& f_;
    std::vector<std::uint32_t> block_of_;
    const std::vector<BasicBlock> blocks_;
    std::vector<std::uint32_t> borders_;  // by block
    std::vector<Site> firsts_;            // by block
    std::vector<bool> alone_;             // whether the block has no other counter
    FunctionPlan plan_;
};

}  // namespace

std::pair<const Counter*, const Counter*> FunctionPlan::before(std::uint32_t instruction) const {
    const auto first = std::lower_bound(
        counters.begin(), counters.end(), instruction,
        [](const Counter& counter, std::uint32_t i) { return counter.instruction < i; });
    auto last = first;
    while (last != counters.end() && last->instruction == instruction) ++last;
    return {counters.data() + (first - counters.begin()),
            counters.data() + (last - counters.begin())};
}

ModulePlan place_counters(const ptx::Module& module, std::string_view text) {
    ModulePlan made{ptx::LineTable(text), {}};
    for (const ptx::Function& f : module.functions)
        made.functions.push_back(f.defined ? Placement(module, made.lines, f).plan()
                                           : FunctionPlan());
    return made;
}

}  // namespace cupola::cpu::coverage
