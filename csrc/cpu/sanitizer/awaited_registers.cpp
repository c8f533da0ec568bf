// csrc/cpu/sanitizer/awaited_registers.cpp - finds uses of registers before a wait.
#include "cpu/sanitizer/awaited_registers.hpp"

#include <iterator>

#include "cpu/interpreter/block.hpp"
#include "cpu/interpreter/matrix.hpp"
#include "cpu/interpreter/tcgen05.hpp"

namespace cupola::cpu::sanitizer {
namespace {

using interpreter::Copies;
using interpreter::DecodedOp;
using interpreter::Effect;
using interpreter::KernelCode;
using interpreter::Warp;

// The clock of the first active lane: the instructions are those of a whole warp.
CopyClock& clock_of(const Warp& w, Copies by, Clocks& clocks) {
    const unsigned thread =
        w.index * interpreter::lanes + static_cast<unsigned>(__builtin_ctz(w.mask));
    return clocks.copies(thread)
        .of[by == Copies::products ? CopyClocks::products : CopyClocks::tensor_loads];
}

bool writes_registers(Copies by) { return by == Copies::products || by == Copies::tensor_loads; }

}  // namespace

void AwaitedRegisters::issue(const Warp& w, const DecodedOp* ip, const Effect& effect,
                             const KernelCode& kernel, Clocks& clocks) {
    if (!writes_registers(effect.copies) || w.mask == 0) return;
    const auto n = static_cast<std::size_t>(ip->imm);
    const bool product = effect.copies == Copies::products;
    const Register written{effect.copies, clock_of(w, effect.copies, clocks).now, ip->line};
    for (const std::int32_t at :
         product ? kernel.matrices[n].d : kernel.tensor_accesses[n].registers)
        warps_[w.index][at] = written;
    if (!product && kernel.tensor_accesses[n].reduction != ptx::ColumnReduction::none)
        warps_[w.index][kernel.tensor_accesses[n].reduced] = written;
}

void AwaitedRegisters::wait(const Warp& w, const Effect& effect, Clocks& clocks) {
    if (!writes_registers(effect.copies) || w.mask == 0) return;
    const Time complete = clock_of(w, effect.copies, clocks).complete;
    auto& registers = warps_[w.index];
    for (auto at = registers.begin(); at != registers.end();) {
        const bool done = at->second.by == effect.copies && at->second.time <= complete;
        at = done ? registers.erase(at) : std::next(at);
    }
}

AwaitedRegisters::Found AwaitedRegisters::find(const Warp& w, const DecodedOp* ip,
                                               const Effect& effect, const KernelCode& kernel) {
    auto& registers = warps_[w.index];
    const auto found = [&](std::int32_t at) {
        const auto it = at == 0 ? registers.end() : registers.find(at);
        if (it == registers.end()) return Found{};
        const bool product = it->second.by == Copies::products;
        const Found use{it->second.line, product ? "wgmma.mma_async" : "tcgen05.ld",
                        product ? "wgmma.wait_group" : "tcgen05.wait::ld"};
        registers.erase(it);
        return use;
    };
    for (const std::int32_t at : ip->op)
        if (const Found use = found(at); use.line != 0) return use;
    if (effect.copies == Copies::tensor_stores && effect.step == Effect::Step::access)
        for (const std::int32_t at :
             kernel.tensor_accesses[static_cast<std::size_t>(ip->imm)].registers)
            if (const Found use = found(at); use.line != 0) return use;
    return {};
}

}  // namespace cupola::cpu::sanitizer
