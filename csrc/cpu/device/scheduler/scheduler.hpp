// csrc/cpu/device/scheduler/scheduler.hpp - the block scheduler: distributes the clusters of grids
// over worker threads. Without clusters, each block of a grid is one.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>

#include "cpu/base/condition.hpp"
#include "cpu/device/memory/memory.hpp"
#include "cpu/device/scheduler/grid.hpp"

namespace cupola::cpu {

class Context;

class Scheduler {
  public:
    Scheduler(int threads, double timeout, MemoryMap& memory)
        : threads_(threads), timeout_(timeout), memory_(memory) {}

    // Runs a grid to its end on the calling thread, and on workers if that is faster.
    void run(Grid& grid);
    // Stops a context's running grids.
    void stop(const Context& context);
    // Stops all grids and prevents new ones, at process exit.
    void stop();

  private:
    using Active = std::list<Grid*>;

    void run_resident(Grid& grid);
    void run_in_turn(Grid& grid);
    void work(Grid& grid, std::unique_ptr<ClusterRunner>& runner, unsigned worker);
    void help(Grid& grid, unsigned worker);
    void publish(Grid& grid);
    void wait_for_helpers(Grid& grid);
    static void* helper_main(void* scheduler);
    static void* watch_main(void* scheduler);
    void helper_loop();
    void watch_loop();

    const int threads_;
    const double timeout_;
    MemoryMap& memory_;
    std::mutex mutex_;
    Active running_;              // all grids, for stop() and the time limit
    std::list<Grid*> shared_;     // grids with work for helpers, highest priority first
    std::atomic<int> offers_{0};  // number of shared grids, readable without the lock
    int helpers_ = 0;             // threads started
    unsigned numbered_ = 0;       // threads that have their number as a worker
    int asleep_ = 0;
    bool watched_ = false;
    bool stopping_ = false;
    Condition work_;
    Condition left_;  // signals that a helper has left a grid, or a grid has ended
};

}  // namespace cupola::cpu
