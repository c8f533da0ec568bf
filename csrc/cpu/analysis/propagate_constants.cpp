// csrc/cpu/analysis/propagate_constants.cpp - operands that are constant where they are read.
//
// A register of a loop often starts as a constant, and is read before the loop too. Such a read
// then has a constant, so that strides and quotients are known.
#include "cpu/analysis/passes.hpp"

namespace cupola::cpu::compiler {

namespace {

constexpr std::size_t max_states = std::size_t{1} << 20;
constexpr unsigned max_passes = 64;
// The state of a register at a pc: the offset of a constant, or one of these.
constexpr std::int32_t unvisited = -1, varies = 0;

// The constant that an operation moves to a register; nullptr if the operation is no such move.
const Register* moved_constant(const KernelAnalysis& analysis, const OpEffects& op) {
    if (op.kind != Kind::lanes || op.guarded || op.accesses.size() != 2 ||
        op.origin.form.opcode() != ptx::Opcode::mov)
        return nullptr;
    const Register *to = analysis.at(op.accesses[0].offset),
                   *from = analysis.at(op.accesses[1].offset);
    const bool constant = to && from && from->constant && !from->in_file && !to->in_file &&
                          op.accesses[0].bytes == op.accesses[1].bytes;
    return constant ? from : nullptr;
}

}  // namespace

// Replaces the sources of lane functions only: other operations may call their handlers, which read
// the register. Liveness has been found, so the register is still spilled for the interpreter. A
// run of handlers gets the value of the register before it begins.
void propagate_constants(KernelAnalysis& analysis) {
    std::map<std::int32_t, std::size_t> index;
    for (const OpEffects& op : analysis.ops)
        if (moved_constant(analysis, op)) index.emplace(op.accesses[0].offset, index.size());
    if (index.empty() || index.size() * analysis.blocks.size() > max_states) return;
    using State = std::vector<std::int32_t>;
    const auto run = [&](const OpEffects& op, State& state) {
        const Register* constant = moved_constant(analysis, op);
        for (const Access& access : op.accesses)
            if (const auto found = index.find(access.offset); access.write && found != index.end())
                state[found->second] = constant ? constant->offset : varies;
    };
    std::vector<State> starts(analysis.blocks.size(), State(index.size(), unvisited));
    starts[0].assign(index.size(), varies);
    unsigned passes = max_passes;
    for (bool changed = true; changed;) {
        if (passes-- == 0) return;
        changed = false;
        for (std::uint32_t b = 0; b < analysis.blocks.size(); ++b) {
            State state = starts[b];
            for (std::uint32_t n = analysis.blocks[b].first; n < analysis.blocks[b].end; ++n)
                run(analysis.ops[n], state);
            for (const std::uint32_t to : analysis.blocks[b].successors)
                for (std::size_t k = 0; k < state.size(); ++k) {
                    std::int32_t& start = starts[to][k];
                    if (state[k] == unvisited || start == varies || start == state[k]) continue;
                    start = start == unvisited ? state[k] : varies;
                    changed = true;
                }
        }
    }
    for (std::uint32_t b = 0; b < analysis.blocks.size(); ++b) {
        State state = starts[b];
        for (std::uint32_t n = analysis.blocks[b].first; n < analysis.blocks[b].end; ++n) {
            for (Access& access : analysis.ops[n].accesses) {
                const auto found = index.find(access.offset);
                if (analysis.ops[n].kind != Kind::lanes || access.write || found == index.end())
                    continue;
                const std::int32_t constant = state[found->second];
                if (constant > varies && analysis.at(constant)->bytes == access.bytes) {
                    access.replaced = access.offset;
                    access.offset = constant;
                }
            }
            run(analysis.ops[n], state);
        }
    }
}

}  // namespace cupola::cpu::compiler
