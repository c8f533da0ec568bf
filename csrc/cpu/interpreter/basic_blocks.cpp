// csrc/cpu/interpreter/basic_blocks.cpp - divides a function into basic blocks.
#include <algorithm>

#include "cpu/interpreter/block_order.hpp"

namespace cupola::cpu::interpreter {

bool ends_block(const ptx::Instruction& i) {
    switch (i.form.opcode()) {
        case ptx::Opcode::bra:
        case ptx::Opcode::brx_idx:
        case ptx::Opcode::ret:
        case ptx::Opcode::exit:
        case ptx::Opcode::trap:
            return true;
        default:
            return false;
    }
}

std::vector<BasicBlock> basic_blocks(const ptx::Function& f, std::vector<std::uint32_t>& block_of) {
    const auto count = static_cast<std::uint32_t>(f.code.size());
    std::vector<bool> leader(count + 1);
    leader[0] = true;
    for (const std::uint32_t at : f.labels) leader[at] = true;
    for (std::uint32_t i = 0; i < count; ++i)
        if (ends_block(f.code[i])) leader[i + 1] = true;
    std::vector<BasicBlock> list;
    block_of.assign(count + 1, 0);
    for (std::uint32_t i = 0; i < count; ++i) {
        if (leader[i]) {
            list.emplace_back();
            list.back().first = i;
        }
        list.back().end = i + 1;
        block_of[i] = static_cast<std::uint32_t>(list.size() - 1);
    }
    // A label after the last instruction begins an empty block.
    if (count == 0 || leader[count]) {
        list.emplace_back();
        list.back().first = list.back().end = count;
    }
    block_of[count] = static_cast<std::uint32_t>(list.size() - 1);
    for (std::uint32_t n = 0; n < list.size(); ++n) {
        BasicBlock& b = list[n];
        if (b.first == b.end) continue;
        const ptx::Instruction& last = f.code[b.end - 1];
        const bool always = ends_block(last) && last.guard == ptx::absent;
        if (last.form.opcode() == ptx::Opcode::bra) {
            b.successors.push_back(block_of[f.labels[f.operands[last.operand].index]]);
        } else if (last.form.opcode() == ptx::Opcode::brx_idx) {
            for (const std::uint32_t label : f.tables[f.operands[last.operand + 1].index])
                b.successors.push_back(block_of[f.labels[label]]);
            std::sort(b.successors.begin(), b.successors.end());
            b.successors.erase(std::unique(b.successors.begin(), b.successors.end()),
                               b.successors.end());
        }
        if (!always && b.end < count) b.successors.push_back(block_of[b.end]);
        if (!always && b.end == count && leader[count]) b.successors.push_back(block_of[count]);
        for (const std::uint32_t s : b.successors) ++list[s].predecessors;
    }
    return list;
}

}  // namespace cupola::cpu::interpreter
