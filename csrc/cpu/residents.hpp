// csrc/cpu/residents.hpp - the clusters of a cooperative grid, all under way at once: whichever
// worker has a hand free gives the next in line a turn, so that each comes on however few workers
// there are.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "cpu/condition.hpp"
#include "cpu/execute.hpp"

namespace cupola::cpu {

struct Grid;

class Residents {
  public:
    // Has memory for all of them, or throws std::bad_alloc.
    explicit Residents(Grid& grid);

    // Returns when all clusters have ended, or the grid is stopped.
    void work();
    bool wants_help() const {
        return workers_.load(std::memory_order_relaxed) < left_.load(std::memory_order_relaxed);
    }

  private:
    using Line = std::deque<ClusterRunner*>;

    bool take(std::vector<ClusterRunner*>& hand);
    void give_back(const std::vector<ClusterRunner*>& hand, std::size_t ended);

    Grid& grid_;
    std::vector<std::unique_ptr<ClusterRunner>> clusters_;
    std::mutex mutex_;
    Condition changed_;
    Line line_;  // those that nobody has in hand
    int waiting_ = 0;
    std::atomic<std::size_t> left_, workers_{0};
};

}  // namespace cupola::cpu
