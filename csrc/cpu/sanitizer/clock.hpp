// csrc/cpu/sanitizer/clock.hpp - vector clocks of a block's threads, for the race check.
//
// A thread's time advances whenever others may learn what it has done. An access is ordered before
// an action of another thread if that thread knows this time of the accessing thread, or a later
// one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace cupola::cpu::sanitizer {

using Time = std::uint32_t;
using Times = std::vector<Time>;  // a time for each thread of a block; missing times are 0
// Other blocks, by number.
using Far = std::map<std::uint32_t, std::shared_ptr<const Times>>;

// Immutable, and shared by threads with equal knowledge.
struct Knowledge {
    Times near;  // times of threads of the same block
    std::shared_ptr<const Far> far;
};
using Known = std::shared_ptr<const Knowledge>;

// Joins the clocks of threads at a barrier, after which each knows all.
class JoinClock {
  public:
    void add(const Known& known, unsigned thread, Time time);
    void add(const JoinClock& other);
    Known outcome() const { return std::make_shared<const Knowledge>(all_); }
    void clear();

  private:
    Knowledge all_;
    const Knowledge* last_ = nullptr;  // added last: most threads at a barrier have equal knowledge
};

// Knowledge released at an address, for threads that read it: by block, the own block included.
struct ReleaseClock {
    Far blocks;
    std::uint64_t version = 0;  // unique among the letters of a grid
};

// The clocks of a block's threads.
class Clocks {
  public:
    // `versions`: counts the releases in the grid.
    explicit Clocks(std::uint64_t& versions) : versions_(versions) {}
    void begin(std::uint32_t block, unsigned threads);
    Time now(unsigned thread) const { return threads_[thread].time; }
    bool knows(unsigned thread, std::uint32_t block, unsigned other, Time time) const;

    void join(JoinClock& meeting, unsigned thread);  // adds the thread, advances its time
    void learn(unsigned thread, const Known& outcome);

    // A fence: the thread's later writes release all that the thread knows at the fence.
    void fence(unsigned thread);
    // A write releases what the thread knew at its last fence; with `all`, what the thread knows at
    // the write.
    void leave(ReleaseClock& letter, unsigned thread, bool all);
    void take(const ReleaseClock& letter, unsigned thread);

  private:
    struct Thread {
        Known known, fenced;
        Time time = 1, fenced_time = 0;
        std::uint64_t taken = 0;  // version of the letter taken last
    };

    std::uint64_t& versions_;
    std::uint32_t block_ = 0;
    std::vector<Thread> threads_;
};

}  // namespace cupola::cpu::sanitizer
