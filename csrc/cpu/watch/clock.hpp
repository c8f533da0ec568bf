// csrc/cpu/watch/clock.hpp - what the threads of a block know to have happened before: vector
// clocks. A thread's time moves on whenever others may come to know what it has done; an access is
// ordered before what a thread does where the thread knows a time of the other that is not
// earlier.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace cupola::cpu::watch {

using Time = std::uint32_t;
using Times = std::vector<Time>;  // by thread of a block; what is not there is 0
// Of other blocks, by number.
using Far = std::map<std::uint32_t, std::shared_ptr<const Times>>;

// Shared by all who know the same, and never changed.
struct Knowledge {
    Times near;  // of the own block
    std::shared_ptr<const Far> far;
};
using Known = std::shared_ptr<const Knowledge>;

// Where threads meet that all learn what each of them knows: a barrier.
class Meeting {
  public:
    void add(const Known& known, unsigned thread, Time time);
    void add(const Meeting& other);
    Known outcome() const { return std::make_shared<const Knowledge>(all_); }
    void clear();

  private:
    Knowledge all_;
    const Knowledge* last_ = nullptr;  // that was added: most of a barrier's threads know the same
};

// What is left at an address for whoever reads it: by block, its own among them.
struct Letter {
    Far blocks;
    std::uint64_t version = 0;  // of all letters of a grid each has its own
};

// The clocks of a block's threads.
class Clocks {
  public:
    // `versions`: how many letters have been left in the grid.
    explicit Clocks(std::uint64_t& versions) : versions_(versions) {}
    void begin(std::uint32_t block, unsigned threads);
    Time now(unsigned thread) const { return threads_[thread].time; }
    bool knows(unsigned thread, std::uint32_t block, unsigned other, Time time) const;

    void join(Meeting& meeting, unsigned thread);  // comes to it, and goes on in time
    void learn(unsigned thread, const Known& outcome);

    // A fence: what the thread does from here on is seen after all that it knows now.
    void fence(unsigned thread);
    // What a write leaves for readers: what was known at the last fence, or is now.
    void leave(Letter& letter, unsigned thread, bool all);
    void take(const Letter& letter, unsigned thread);

  private:
    struct Thread {
        Known known, fenced;
        Time time = 1, fenced_time = 0;
        std::uint64_t taken = 0;  // version of the letter that was taken last
    };

    std::uint64_t& versions_;
    std::uint32_t block_ = 0;
    std::vector<Thread> threads_;
};

}  // namespace cupola::cpu::watch
