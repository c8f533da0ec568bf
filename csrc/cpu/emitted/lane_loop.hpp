// csrc/cpu/emitted/lane_loop.hpp - loops that the lanes of a warp execute one after another.
//
// The lanes work on copies of the registers. If a lane's access is not allowed, the copies are
// dropped, and the warp runs the iteration as usual. So the fault is that of all lanes together.
#pragma once

#include "cpu/emitted/access.hpp"

namespace cupola::cpu::CUPOLA_ISA {

// Whether the lanes of a loop run one after another. After a failure the next entries of the loop
// do not try it, twice as many each time.
class LaneLoop {
  public:
    bool may_run() {
        if (pause_ == 0) return true;
        --pause_;
        return false;
    }
    void note(bool done) {
        constexpr std::uint32_t max_pause = 1 << 16;
        if (!done) pause_ = next_pause_;
        next_pause_ = done ? 1 : next_pause_ < max_pause ? 2 * next_pause_ : max_pause;
    }

  private:
    std::uint32_t pause_ = 0, next_pause_ = 1;
};

// Iterations of a lane in this time slice, at least one.
CUPOLA_INLINE std::uint32_t iterations_in_slice(const Warp& w, std::int32_t cost) {
    constexpr std::uint32_t most = 1 << 16;
    if (cost <= 0) return most;
    return w.budget > cost ? static_cast<std::uint32_t>(w.budget / cost) : 1;
}

// Addresses where `bytes` may be read, at multiples of Align from the first address.
template <Window W, unsigned Align>
struct ReadableRange {
    std::uint64_t first = 0, last = 0, host = 0;  // `last`: in units of Align, from the first
    bool usable = false;
    ReadableRange(const Warp& w, std::uint32_t slot, std::uint64_t bytes) {
        std::uint64_t size;
        if constexpr (W == Window::shared) {
            first = w.block->shared_window;
            host = w.block->shared - first;
            size = w.block->shared_bytes;
        } else {
            const Range& range = w.block->ranges[slot];
            first = range.begin;
            size = range.end - range.begin;
        }
        usable = size >= bytes && first % Align == 0;
        if (usable) last = (size - bytes) / Align;
    }
    // A misaligned address has bits that the rotation makes the highest bits.
    bool allows(std::uint64_t from) const {
        constexpr unsigned shift = __builtin_ctz(Align);
        const std::uint64_t distance = from - first;
        return (shift == 0 ? distance : distance >> shift | distance << (64 - shift) % 64) <= last;
    }
};

}  // namespace cupola::cpu::CUPOLA_ISA
