// csrc/cpu/sanitizer/clock.hpp - vector clocks of a block's threads, for the race check.
//
// A thread's time advances whenever others may learn what it has done. An access is ordered before
// an action of another thread if that thread knows this time of the accessing thread, or a later
// one.
//
// The asynchronous copies of a thread have clocks of their own: see copy_clock.hpp. A thread
// is an `actor`, and the copies of a thread that one of these clocks times are another.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "cpu/sanitizer/copy_clock.hpp"

namespace cupola::cpu::sanitizer {

using Times = std::vector<Time>;  // a time for each actor of a block; missing times are 0
// Other blocks, by number.
using Far = std::map<std::uint32_t, std::shared_ptr<const Times>>;

// Immutable, and shared by threads with equal knowledge.
struct Knowledge {
    Times near;  // times of actors of the same block
    std::shared_ptr<const Far> far;
};
using Known = std::shared_ptr<const Knowledge>;

// Joins the clocks of threads at a barrier, after which each knows all.
class JoinClock {
  public:
    void add(const Known& known);
    void add(const JoinClock& other);
    void add(unsigned actor, Time time);
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
    unsigned actor(unsigned thread, CopyClocks::Kind copies) const {
        return thread + (1 + copies) * count();
    }
    unsigned thread_of(unsigned actor) const { return actor % count(); }
    bool is_copy(unsigned actor) const { return actor >= count(); }
    bool is_of_tensor_cores(unsigned actor) const {
        return is_copy(actor) && kind_of(actor) >= CopyClocks::products;
    }
    Time now(unsigned actor) const;
    // Whether work of another actor, or of the same actor, is ordered before what the actor does
    // now.
    bool knows(unsigned actor, std::uint32_t block, unsigned other, Time time) const;

    CopyClocks& copies(unsigned thread) { return threads_[thread].copies; }
    // Whether the thread of a copy has not waited for the copy.
    bool is_pending(unsigned actor, Time time) const;
    // Releases that the copies of a thread up to now are complete.
    void leave_copies(ReleaseClock& letter, unsigned thread, CopyClocks::Kind kind);

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
        CopyClocks copies;
    };

    unsigned count() const { return static_cast<unsigned>(threads_.size()); }
    CopyClocks::Kind kind_of(unsigned actor) const {
        return static_cast<CopyClocks::Kind>(actor / count() - 1);
    }
    // Calls `f` with the actor and the time of the copies for which the thread has waited.
    template <class F>
    void each_complete(unsigned thread, F f) const;
    // The knowledge of a thread, with these copies.
    Known with_copies(const Known& known, unsigned thread) const;

    std::uint64_t& versions_;
    std::uint32_t block_ = 0;
    std::vector<Thread> threads_;
};

}  // namespace cupola::cpu::sanitizer
