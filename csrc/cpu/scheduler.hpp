// csrc/cpu/scheduler.hpp - the block scheduler: distributes the clusters of grids over worker
// threads. Without clusters, each block of a grid is one.
#pragma once

#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <optional>

#include "cpu/condition.hpp"
#include "cpu/execute.hpp"

namespace cupola::cpu {

class Context;
class CooperativeGrid;

// One launch while it runs.
struct Grid {
    Launch launch;
    Context* context = nullptr;
    int priority = 0;

    std::uint64_t clusters = 0;
    std::atomic<std::uint64_t> next{0};
    std::unique_ptr<CooperativeGrid> cooperative;  // only for a cooperative grid
    // The workspace of cooperative groups: its size in bytes, and the barrier.
    std::uint32_t workspace[2] = {sizeof workspace, 0};
    std::atomic<bool> stop{false};
    std::atomic<bool> timed_out{false};
    std::atomic<bool> printed{false};
    std::atomic<int> helpers{0};
    std::chrono::steady_clock::time_point deadline;
    std::mutex mutex;
    std::optional<Fault> fault;  // the first fault of any worker

    Grid();
    ~Grid();
    void note(Fault fault);  // also stops the grid
    bool wants_help() const;
};

class Scheduler {
  public:
    Scheduler(int threads, double timeout) : threads_(threads), timeout_(timeout) {}

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
    void work(Grid& grid, ClusterRunner& runner);
    void help(Grid& grid);
    void publish(Grid& grid);
    void wait_for_helpers(Grid& grid);
    static void* helper_main(void* scheduler);
    static void* watch_main(void* scheduler);
    void helper_loop();
    void watch_loop();

    const int threads_;
    const double timeout_;
    std::mutex mutex_;
    Active running_;              // all grids, for stop() and the time limit
    std::list<Grid*> shared_;     // grids with work for helpers, highest priority first
    std::atomic<int> offers_{0};  // number of shared grids, readable without the lock
    int helpers_ = 0;             // threads started
    int asleep_ = 0;
    bool watched_ = false;
    bool stopping_ = false;
    Condition work_;
    Condition left_;  // signals that a helper has left a grid, or a grid has ended
};

}  // namespace cupola::cpu
