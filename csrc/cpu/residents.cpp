// csrc/cpu/residents.cpp - turns of the clusters of a cooperative grid.
#include "cpu/residents.hpp"

#include <algorithm>
#include <new>

#include "cpu/scheduler.hpp"

namespace cupola::cpu {

Residents::Residents(Grid& grid) : grid_(grid), left_(grid.clusters) {
    for (std::uint64_t n = 0; n < grid.clusters; ++n) {
        clusters_.push_back(ClusterRunner::make(grid.launch));
        clusters_.back()->begin(n);
        line_.push_back(clusters_.back().get());
    }
}

// A few at a time, so that the lock is not what workers meet at; not so many that another worker
// would have to wait. False: there is nothing more to do.
bool Residents::take(std::vector<ClusterRunner*>& hand) {
    std::unique_lock lock(mutex_);
    for (;;) {
        if (left_.load() == 0 || grid_.stop.load()) return false;
        if (!line_.empty()) break;
        // A stopped grid wakes nobody here, hence in slices.
        ++waiting_;
        changed_.wait_for(lock, std::chrono::milliseconds(10));
        --waiting_;
    }
    const std::size_t fair = line_.size() / (2 * workers_.load());
    const std::size_t count = std::clamp<std::size_t>(fair, 1, 16);
    hand.assign(line_.begin(), line_.begin() + static_cast<Line::difference_type>(count));
    line_.erase(line_.begin(), line_.begin() + static_cast<Line::difference_type>(count));
    return true;
}

void Residents::give_back(const std::vector<ClusterRunner*>& hand, std::size_t ended) {
    std::lock_guard lock(mutex_);
    line_.insert(line_.end(), hand.begin(), hand.end());
    left_.store(left_.load() - ended);
    if (waiting_ > 0) changed_.notify_all();
}

void Residents::work() {
    workers_.fetch_add(1);
    std::vector<ClusterRunner*> hand;
    try {
        while (take(hand)) {
            std::size_t ended = 0;
            for (ClusterRunner*& cluster : hand) {
                if (grid_.stop.load(std::memory_order_relaxed)) break;
                const auto progress = cluster->advance();
                if (progress == ClusterRunner::Progress::running) continue;
                if (progress == ClusterRunner::Progress::faulted) grid_.note(cluster->take_fault());
                cluster = nullptr;
                ++ended;
            }
            hand.erase(std::remove(hand.begin(), hand.end(), nullptr), hand.end());
            give_back(hand, ended);
        }
    } catch (const std::bad_alloc&) {
        grid_.note({Fault::Kind::out_of_memory, "no memory for a block"});
    }
    workers_.fetch_sub(1);
}

}  // namespace cupola::cpu
