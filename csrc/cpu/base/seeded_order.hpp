// csrc/cpu/base/seeded_order.hpp - a random order of the blocks, warps and lanes of one launch.
//
// CUPOLA_CPU_SEED, or the program, gives a seed. An order depends on the seed and on the number of
// launches since it was set, never on time or on threads.
#pragma once

#include <cstdint>
#include <memory>

namespace cupola::cpu {

class SeededOrder {
  public:
    // Sets the seed of the launches from now on, and counts them from 0 again.
    static void set_seed(std::uint64_t seed);
    static void clear_seed();
    // The order of the next launch; nullptr without a seed.
    static std::shared_ptr<SeededOrder> next();

    SeededOrder(std::uint64_t seed, std::uint64_t launch);

    std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(draw() % n); }
    // The cluster that starts at this position.
    std::uint64_t cluster_at(std::uint64_t position, std::uint64_t clusters) const;
    // The number of clusters that run at the same time, while each of them makes progress.
    std::uint32_t resident() const { return resident_; }
    // The new place in a queue of `count` entries for an entry that has run a time slice and is not
    // done. The entry at place 0 runs next.
    std::uint32_t place_after_turn(std::uint32_t count) {
        return goes_last_ ? count - 1 : below(count);
    }
    // Whether the lanes stop before this access of memory, so that other lanes run first.
    bool interrupts() { return interval_ != 0 && below(interval_) == 0; }
    std::uint32_t some_of(std::uint32_t mask);  // a part of the lanes, neither none nor all

  private:
    std::uint64_t draw();

    std::uint64_t state_;
    std::uint64_t key_;
    enum class Blocks : std::uint8_t { forward, backward, shuffled } blocks_;
    std::uint32_t resident_;
    std::uint32_t interval_;  // the number of the access that is interrupted; 0: none
    bool goes_last_;  // an entry that has run goes to the end of the queue; else to any place
};

}  // namespace cupola::cpu
