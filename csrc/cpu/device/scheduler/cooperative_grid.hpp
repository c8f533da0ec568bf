// csrc/cpu/device/scheduler/cooperative_grid.hpp - runs all clusters of a cooperative grid
// concurrently. A free worker runs a time slice of the next clusters in the queue, so any number of
// workers makes progress.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "cpu/base/condition.hpp"
#include "cpu/interpreter/execute.hpp"

namespace cupola::cpu {

struct Grid;

class CooperativeGrid {
  public:
    // Allocates all clusters; throws std::bad_alloc.
    explicit CooperativeGrid(Grid& grid);

    // Returns when all clusters have ended or the grid is stopped.
    void work();
    bool wants_help() const {
        return workers_.load(std::memory_order_relaxed) < left_.load(std::memory_order_relaxed);
    }

  private:
    using Queue = std::deque<ClusterRunner*>;

    bool take(std::vector<ClusterRunner*>& batch);
    void give_back(const std::vector<ClusterRunner*>& batch, std::size_t ended);

    Grid& grid_;
    std::vector<std::unique_ptr<ClusterRunner>> clusters_;
    std::mutex mutex_;
    Condition changed_;
    Queue queue_;  // clusters that no worker runs now
    int waiting_ = 0;
    std::atomic<std::size_t> left_, workers_{0};
};

}  // namespace cupola::cpu
