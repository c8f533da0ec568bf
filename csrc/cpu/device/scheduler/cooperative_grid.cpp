// csrc/cpu/device/scheduler/cooperative_grid.cpp - time slices of the clusters of a cooperative
// grid.
#include "cpu/device/scheduler/cooperative_grid.hpp"

#include <algorithm>
#include <new>

#include "cpu/device/scheduler/grid.hpp"

namespace cupola::cpu {

CooperativeGrid::CooperativeGrid(Grid& grid) : grid_(grid), left_(grid.clusters) {
    for (std::uint64_t n = 0; n < grid.clusters; ++n) {
        clusters_.push_back(ClusterRunner::make(grid.launch));
        clusters_.back()->begin(n);
        queue_.push_back(clusters_.back().get());
    }
}

// Takes several clusters to reduce contention of the lock, but leaves enough for other workers.
// False if the grid has ended.
bool CooperativeGrid::take(std::vector<ClusterRunner*>& batch) {
    std::unique_lock lock(mutex_);
    for (;;) {
        if (left_.load() == 0 || grid_.stop.load()) return false;
        if (!queue_.empty()) break;
        // Stopping a grid does not signal this condition, so the wait has a timeout.
        ++waiting_;
        changed_.wait_for(lock, std::chrono::milliseconds(10));
        --waiting_;
    }
    const std::size_t fair = queue_.size() / (2 * workers_.load());
    const std::size_t count = std::clamp<std::size_t>(fair, 1, 16);
    batch.assign(queue_.begin(), queue_.begin() + static_cast<Queue::difference_type>(count));
    queue_.erase(queue_.begin(), queue_.begin() + static_cast<Queue::difference_type>(count));
    return true;
}

void CooperativeGrid::give_back(const std::vector<ClusterRunner*>& batch, std::size_t ended) {
    std::lock_guard lock(mutex_);
    queue_.insert(queue_.end(), batch.begin(), batch.end());
    left_.store(left_.load() - ended);
    if (waiting_ > 0) changed_.notify_all();
}

void CooperativeGrid::work() {
    workers_.fetch_add(1);
    std::vector<ClusterRunner*> batch;
    try {
        while (take(batch)) {
            std::size_t ended = 0;
            for (ClusterRunner*& cluster : batch) {
                if (grid_.stop.load(std::memory_order_relaxed)) break;
                const auto progress = cluster->advance();
                if (progress == ClusterRunner::Progress::running) continue;
                if (progress == ClusterRunner::Progress::faulted) grid_.note(cluster->take_fault());
                cluster = nullptr;
                ++ended;
            }
            batch.erase(std::remove(batch.begin(), batch.end(), nullptr), batch.end());
            give_back(batch, ended);
        }
    } catch (const std::bad_alloc&) {
        grid_.note({Fault::Kind::out_of_memory, "no memory for a block"});
    }
    workers_.fetch_sub(1);
}

}  // namespace cupola::cpu
