// csrc/cpu/sanitizer/copies.cpp - asynchronous copies: whose access it is, and what waits for it.
//
// A copy is done when it is issued, so its bytes are right without a wait. The race check gives the
// copy a clock of its own, which only a wait makes known.
#include "cpu/interpreter/block.hpp"
#include "cpu/sanitizer/findings.hpp"
#include "cpu/sanitizer/sanitizer.hpp"
#include "platform/demangle.hpp"

namespace cupola::cpu::sanitizer {
namespace {

using interpreter::Copies;
using Step = Effect::Step;

CopyClocks::Kind clock_of(Copies copies, bool writes) {
    switch (copies) {
        case Copies::grouped:
            return CopyClocks::grouped;
        case Copies::counted:
            return CopyClocks::counted;
        case Copies::products:
            return CopyClocks::products;
        case Copies::tensor:
            return CopyClocks::tensor;
        case Copies::tensor_loads:
            return CopyClocks::tensor_loads;
        case Copies::tensor_stores:
            return CopyClocks::tensor_stores;
        default:
            return writes ? CopyClocks::bulk_writes : CopyClocks::bulk_reads;
    }
}

}  // namespace

unsigned BlockChecks::actor(const Warp& w, unsigned lane, const Effect& effect, bool writes) const {
    const unsigned mine = thread(w, lane);
    return effect.step == Step::access ? clocks_.actor(mine, clock_of(effect.copies, writes))
                                       : mine;
}

void BlockChecks::step_copies(const Warp& w, const interpreter::DecodedOp* ip, const Effect& effect,
                              std::uint32_t mask) {
    if (!grid_.launch.checks.race) return;
    const auto left = static_cast<std::size_t>(ip->imm);
    if (effect.step == Step::access) awaited_.issue(w, ip, effect, grid_.kernel, clocks_);
    each_lane_of(mask, [&](unsigned lane) {
        CopyClocks& copies = clocks_.copies(thread(w, lane));
        CopyClock &reads = copies.of[clock_of(effect.copies, false)],
                  &writes = copies.of[clock_of(effect.copies, true)];
        const bool two = &reads != &writes;
        switch (effect.step) {
            case Step::wait_all:
            case Step::commit:
                writes.commit();
                if (two) reads.commit();
                if (effect.step == Step::wait_all) writes.wait(0);
                break;
            case Step::wait:
                writes.wait(left);
                [[fallthrough]];
            case Step::wait_read:
                if (two) reads.wait(left);
                break;
            case Step::test: {
                const auto* done = reinterpret_cast<const std::uint32_t*>(w.registers + ip->op[0]);
                const auto* object =
                    reinterpret_cast<const std::uint64_t*>(w.registers + ip->op[1]);
                const auto letter = grid_.copied.find(object[lane]);
                if ((*done >> lane & 1) != 0 && letter != grid_.copied.end())
                    clocks_.take(letter->second, thread(w, lane));
                break;
            }
            default:
                break;
        }
    });
    if (effect.step == Step::wait || effect.step == Step::wait_all)
        awaited_.wait(w, effect, clocks_);
}

void BlockChecks::check_registers(const Warp& w, const interpreter::DecodedOp* ip,
                                  const Effect& effect) {
    const AwaitedRegisters::Found found = awaited_.find(w, ip, effect, grid_.kernel);
    if (found.line == 0 || !is_news(grid_.key("race", ip->line, found.line))) return;
    write("race: a register is used before " + std::string(found.instruction) + " is complete",
          {"kernel " + title(grid_.kernel.name()) + ", " + block_.line_text(ip->line),
           thread_text(number_, thread(w, static_cast<unsigned>(__builtin_ctz(w.mask)))),
           std::string(found.instruction) + ": " + block_.line_text(found.line) + "; " +
               found.remedy + " must be executed first"});
}

// An mbarrier counts copies of the thread as complete.
void BlockChecks::signal_copied(const Warp& w, unsigned lane, const Effect& effect,
                                std::uint64_t address) {
    if (effect.step == Step::access)
        clocks_.leave_copies(grid_.copied[address], thread(w, lane), clock_of(effect.copies, true));
}

}  // namespace cupola::cpu::sanitizer
