// csrc/cpu/device/scheduler/cluster_queue.cpp - hands out clusters in index order, or from ranges.
#include "cpu/device/scheduler/cluster_queue.hpp"

#include <algorithm>
#include <new>

namespace cupola::cpu {
namespace {

constexpr std::uint64_t max_end = 0xffffffffu;

std::uint64_t bounds_of(std::uint64_t first, std::uint64_t end) { return first << 32 | end; }
std::uint64_t first_of(std::uint64_t bounds) { return bounds >> 32; }
std::uint64_t end_of(std::uint64_t bounds) { return bounds & max_end; }
std::uint64_t length_of(std::uint64_t bounds) { return end_of(bounds) - first_of(bounds); }

}  // namespace

void ClusterQueue::fill_in_order(std::uint64_t first, std::uint64_t end, unsigned workers) {
    next_.store(first, std::memory_order_relaxed);
    end_ = end;
    workers_ = workers;
}

void ClusterQueue::fill_ranges(std::uint64_t end, unsigned workers) {
    const std::uint64_t first = next_.load(std::memory_order_relaxed);
    if (end > max_end || first >= end || end - first < workers) return;
    ranges_.reset(new (std::nothrow) Range[workers]);
    if (!ranges_) return;
    workers_ = workers;
    const std::uint64_t count = end - first;
    for (std::uint64_t k = 0; k < workers; ++k)
        ranges_[k].bounds.store(
            bounds_of(first + count * k / workers, first + count * (k + 1) / workers),
            std::memory_order_relaxed);
}

bool ClusterQueue::take(unsigned worker, std::uint64_t most, std::uint64_t& first,
                        std::uint64_t& end) {
    if (!ranges_) return take_in_order(most, first, end);
    do
        if (take_own(worker, most, first, end)) return true;
    while (steal(worker));
    return false;
}

// The number of clusters shrinks towards the end: clusters may take different times, and all
// workers should finish together.
bool ClusterQueue::take_in_order(std::uint64_t most, std::uint64_t& first, std::uint64_t& end) {
    const std::uint64_t seen = next_.load(std::memory_order_relaxed);
    if (seen >= end_) return false;
    const std::uint64_t fair = (end_ - seen) / (2 * workers_),
                        some = std::clamp<std::uint64_t>(fair, 1, most);
    first = next_.fetch_add(some, std::memory_order_relaxed);
    end = std::min(first + some, end_);
    return first < end_;
}

// At most half of the range: other workers can take the rest.
bool ClusterQueue::take_own(unsigned worker, std::uint64_t most, std::uint64_t& first,
                            std::uint64_t& end) {
    std::atomic<std::uint64_t>& own = ranges_[worker].bounds;
    std::uint64_t seen = own.load(std::memory_order_relaxed);
    for (;;) {
        const std::uint64_t length = length_of(seen);
        if (length == 0) return false;
        first = first_of(seen);
        end = first + std::clamp<std::uint64_t>(length / 2, 1, most);
        if (own.compare_exchange_weak(seen, bounds_of(end, end_of(seen)),
                                      std::memory_order_relaxed))
            return true;
    }
}

// Moves the second half of the longest range of another worker to the worker's own empty range.
bool ClusterQueue::steal(unsigned worker) {
    for (;;) {
        unsigned longest = worker;
        std::uint64_t seen = 0;
        for (unsigned k = 0; k < workers_; ++k) {
            const std::uint64_t bounds = ranges_[k].bounds.load(std::memory_order_relaxed);
            if (k == worker || length_of(bounds) <= length_of(seen)) continue;
            longest = k;
            seen = bounds;
        }
        if (longest == worker) return false;
        const std::uint64_t middle = end_of(seen) - (length_of(seen) + 1) / 2;
        if (!ranges_[longest].bounds.compare_exchange_strong(
                seen, bounds_of(first_of(seen), middle), std::memory_order_relaxed))
            continue;
        // Only the worker itself writes to an empty range.
        ranges_[worker].bounds.store(bounds_of(middle, end_of(seen)), std::memory_order_relaxed);
        return true;
    }
}

// From the end of a range, which any thread may shorten.
std::optional<std::uint64_t> ClusterQueue::cancel() {
    std::uint64_t first, end;
    if (!ranges_)
        return take_in_order(1, first, end) ? std::optional<std::uint64_t>(first) : std::nullopt;
    for (unsigned k = 0; k < workers_; ++k) {
        std::atomic<std::uint64_t>& range = ranges_[k].bounds;
        std::uint64_t seen = range.load(std::memory_order_relaxed);
        while (length_of(seen) != 0)
            if (range.compare_exchange_weak(seen, bounds_of(first_of(seen), end_of(seen) - 1),
                                            std::memory_order_relaxed))
                return end_of(seen) - 1;
    }
    return std::nullopt;
}

bool ClusterQueue::empty() const {
    if (!ranges_) return next_.load(std::memory_order_relaxed) >= end_;
    for (unsigned k = 0; k < workers_; ++k)
        if (length_of(ranges_[k].bounds.load(std::memory_order_relaxed)) != 0) return false;
    return true;
}

}  // namespace cupola::cpu
