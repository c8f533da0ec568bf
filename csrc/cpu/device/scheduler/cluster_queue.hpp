// csrc/cpu/device/scheduler/cluster_queue.hpp - the clusters of a grid that no worker has taken.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

namespace cupola::cpu {

// In index order, all workers share one counter. In ranges, each worker has a contiguous range of
// the clusters, the same in each launch of that size: neighbouring clusters and their memory stay
// with a thread. A worker whose range is empty takes half of the longest other range.
class ClusterQueue {
  public:
    // Before a worker takes clusters: in index order.
    void fill_in_order(std::uint64_t first, std::uint64_t end, unsigned workers);
    // After that, and before other workers take clusters: those that are left, in ranges. Changes
    // nothing if there are fewer clusters than workers, or more than the ranges can count.
    void fill_ranges(std::uint64_t end, unsigned workers);

    // Takes up to `most` clusters. Returns false if none is left.
    bool take(unsigned worker, std::uint64_t most, std::uint64_t& first, std::uint64_t& end);
    // Takes a cluster that then never runs: any thread, while the queue has clusters.
    std::optional<std::uint64_t> cancel();
    bool empty() const;

  private:
    // A range on a cache line of its own, as one word: its first cluster and its end.
    struct alignas(64) Range {
        std::atomic<std::uint64_t> bounds{0};
    };

    bool take_in_order(std::uint64_t most, std::uint64_t& first, std::uint64_t& end);
    bool take_own(unsigned worker, std::uint64_t most, std::uint64_t& first, std::uint64_t& end);
    bool steal(unsigned worker);

    std::atomic<std::uint64_t> next_{0};
    std::uint64_t end_ = 0;
    unsigned workers_ = 1;
    std::unique_ptr<Range[]> ranges_;  // null: in index order
};

}  // namespace cupola::cpu
