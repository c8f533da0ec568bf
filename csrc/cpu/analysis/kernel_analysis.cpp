// csrc/cpu/analysis/kernel_analysis.cpp - questions about the analysis of a kernel.
#include "cpu/analysis/kernel_analysis.hpp"

#include <algorithm>

namespace cupola::cpu::compiler {

std::string Register::name() const {
    return (bytes == 0 ? "p" : uniform ? "u" : "v") + std::to_string(offset);
}

const Register* KernelAnalysis::at(std::int32_t offset) const {
    const auto found = by_offset_.find(offset);
    return found == by_offset_.end() ? nullptr : &registers[found->second];
}

Register& KernelAnalysis::reg(std::int32_t offset) {
    const auto [at, fresh] =
        by_offset_.emplace(offset, static_cast<std::uint32_t>(registers.size()));
    if (fresh) {
        registers.emplace_back();
        registers.back().offset = offset;
        registers.back().bytes = 255;
    }
    return registers[at->second];
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

bool KernelAnalysis::is_straight_loop(std::uint32_t b) const {
    const Block& block = blocks[b];
    const OpEffects& last = ops[block.end - 1];
    if (!block.is_loop_header || block.loop_end != b || last.kind != Kind::branch ||
        last.targets[0] != block.first)
        return false;
    return std::none_of(
        ops.begin() + block.first, ops.begin() + block.end - 1, [](const OpEffects& op) {
            return op.changes_flow || op.may_retry || op.entry_after || op.no_fallthrough;
        });
}

bool KernelAnalysis::is_block_barrier(std::uint32_t n) const {
    const OpEffects& op = ops[n];
    if (op.kind != Kind::barrier || op.guarded) return false;
    const Register *id = at(op.accesses[0].offset), *count = at(op.accesses[1].offset);
    return id && id->constant && id->value < 16 && count && count->constant && count->value == 0 &&
           n + 1 < ops.size();
}

}  // namespace cupola::cpu::compiler
