// csrc/cpu/interpreter/register_estimate.cpp - estimates a kernel's register count, for occupancy.
#include "cpu/interpreter/register_estimate.hpp"

#include <algorithm>

#include "cpu/base/capability.hpp"
#include "cpu/isa/code.hpp"

namespace cupola::cpu::interpreter {
namespace {

// The largest number of live 32-bit registers. A register counts as live from its first to its last
// use.
std::uint32_t pressure(const ptx::Module& module, const std::vector<std::uint32_t>& functions) {
    std::uint32_t most = 0;
    for (const std::uint32_t n : functions) {
        const ptx::Function& f = module.functions[n];
        std::vector<std::uint32_t> first(f.registers.size(), ptx::absent), last(f.registers.size());
        const auto mention = [&](std::uint32_t r, std::uint32_t at) {
            first[r] = std::min(first[r], at);
            last[r] = std::max(last[r], at);
        };
        for (std::uint32_t i = 0; i < f.code.size(); ++i)
            for (std::uint32_t k = 0; k < f.code[i].operands; ++k) {
                const ptx::Operand& o = f.operands[f.code[i].operand + k];
                if (o.kind == ptx::Operand::Kind::reg ||
                    (o.kind == ptx::Operand::Kind::memory && o.base == ptx::Operand::Kind::reg))
                    mention(o.index, i);
                const ptx::Operand* whole = &o;
                if (o.kind == ptx::Operand::Kind::texel) {
                    if (o.base == ptx::Operand::Kind::reg) mention(o.index, i);
                    whole = &f.operands[static_cast<std::size_t>(o.value) + o.count - 1];
                }
                if (whole->kind == ptx::Operand::Kind::vector)
                    for (std::uint32_t e = 0; e < whole->count; ++e)
                        if (f.operands[whole->index + e].kind == ptx::Operand::Kind::reg)
                            mention(f.operands[whole->index + e].index, i);
            }
        std::vector<std::int32_t> change(f.code.size() + 2);
        for (std::size_t r = 0; r < f.registers.size(); ++r) {
            if (first[r] == ptx::absent || f.registers[r] == ptx::Type::pred) continue;
            const auto units = static_cast<std::int32_t>((ptx::bytes_of(f.registers[r]) + 3) / 4);
            change[first[r]] += units;
            change[last[r] + 1] -= units;
        }
        std::int32_t now = 0;
        for (const std::int32_t c : change) {
            now += c;
            most = std::max(most, static_cast<std::uint32_t>(now));
        }
    }
    return std::clamp(most, 8u, 255u);
}

// The limit by the kernel's directives. A GPU spills the rest to local memory.
std::uint32_t register_limit(const ptx::Function& f, std::uint32_t most_threads) {
    std::uint32_t limit = 255;
    if (f.max_registers != 0) limit = std::min(limit, f.max_registers);
    if (f.max_threads[0] != 0 || f.required_threads[0] != 0) {
        // A GPU allocates registers in units of 8 a thread.
        const std::uint64_t warps = (most_threads + lanes - 1) / lanes;
        const std::uint64_t threads = warps * lanes * std::max(f.min_blocks, 1u);
        const std::uint64_t fit = Capability::registers_per_multiprocessor / threads / 8 * 8;
        limit = std::min(limit, static_cast<std::uint32_t>(std::max<std::uint64_t>(fit, 8)));
    }
    return limit;
}

}  // namespace

std::uint32_t estimate_registers(const ptx::Module& module,
                                 const std::vector<std::uint32_t>& functions,
                                 std::uint32_t threads) {
    return std::min(pressure(module, functions),
                    register_limit(module.functions[functions.back()], threads));
}

}  // namespace cupola::cpu::interpreter
