// csrc/cpu/sanitizer/awaited_registers.hpp - registers that an asynchronous operation will write.
//
// tcgen05.ld and wgmma.mma_async write their registers at any time before a wait. The CPU device
// writes the registers at once, so a missing wait has no effect on the results.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "cpu/interpreter/effect.hpp"
#include "cpu/sanitizer/clock.hpp"

namespace cupola::cpu::sanitizer {

class AwaitedRegisters {
  public:
    struct Found {
        std::uint32_t line = 0;  // of the operation that writes the register; 0: none does
        const char *instruction = "", *remedy = "";
    };

    void begin(unsigned warps) { warps_.assign(warps, {}); }
    void issue(const interpreter::Warp& w, const interpreter::DecodedOp* ip,
               const interpreter::Effect& effect, const interpreter::KernelCode& kernel,
               Clocks& clocks);
    void wait(const interpreter::Warp& w, const interpreter::Effect& effect, Clocks& clocks);
    bool any(const interpreter::Warp& w) const { return !warps_[w.index].empty(); }
    // An awaited register that an operation uses. The register is then forgotten.
    Found find(const interpreter::Warp& w, const interpreter::DecodedOp* ip,
               const interpreter::Effect& effect, const interpreter::KernelCode& kernel);

  private:
    struct Register {
        interpreter::Copies by;
        Time time;
        std::uint32_t line;
    };
    std::vector<std::map<std::int32_t, Register>> warps_;  // by the offset of the register
};

}  // namespace cupola::cpu::sanitizer
