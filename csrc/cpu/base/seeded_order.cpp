// csrc/cpu/base/seeded_order.cpp - random numbers of a launch, and what they decide.
#include "cpu/base/seeded_order.hpp"

#include <atomic>
#include <mutex>
#include <optional>

namespace cupola::cpu {
namespace {

std::atomic<bool> is_set{false};  // read without the lock

struct Setting {
    std::mutex mutex;
    std::optional<std::uint64_t> seed;
    std::uint64_t launches = 0;
};

// Never destroyed: threads outlive static objects.
Setting& setting() {
    static auto* const one = new Setting;
    return *one;
}

// The finalizer of MurmurHash3: each bit of the input changes each bit of the result.
std::uint64_t mix(std::uint64_t x) {
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
    return x ^ x >> 33;
}

// A permutation of all numbers of 2 * half bits, by a Feistel network.
std::uint64_t shuffled(std::uint64_t x, unsigned half, std::uint64_t key) {
    const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
    std::uint64_t left = x >> half, right = x & mask;
    for (std::uint64_t round = 1; round <= 4; ++round) {
        const std::uint64_t next = left ^ (mix(right ^ mix(key + round)) & mask);
        left = right;
        right = next;
    }
    return left << half | right;
}

}  // namespace

void SeededOrder::set_seed(std::uint64_t seed) {
    Setting& s = setting();
    std::lock_guard lock(s.mutex);
    s.seed = seed;
    s.launches = 0;
    is_set.store(true);
}

void SeededOrder::clear_seed() {
    Setting& s = setting();
    std::lock_guard lock(s.mutex);
    s.seed.reset();
    is_set.store(false);
}

std::shared_ptr<SeededOrder> SeededOrder::next() {
    if (!is_set.load(std::memory_order_relaxed)) return nullptr;
    Setting& s = setting();
    std::lock_guard lock(s.mutex);
    if (!s.seed) return nullptr;
    return std::make_shared<SeededOrder>(*s.seed, s.launches++);
}

// Some mistakes show only where lanes are interrupted often, other mistakes where interrupts are
// rare. So the rate differs between launches.
SeededOrder::SeededOrder(std::uint64_t seed, std::uint64_t launch)
    : state_(mix(mix(seed + 1) + launch)), key_(draw()) {
    static constexpr std::uint32_t intervals[] = {0, 2, 2, 6, 6, 6, 20, 20};
    static constexpr std::uint32_t residents[] = {2, 8, 24, 64};
    interval_ = intervals[below(8)];
    resident_ = residents[below(4)];
    goes_last_ = below(2) == 0;
    const std::uint32_t blocks = below(6);
    blocks_ = blocks == 0 ? Blocks::forward : blocks == 1 ? Blocks::backward : Blocks::shuffled;
}

std::uint64_t SeededOrder::draw() { return mix(state_ += 0x9e3779b97f4a7c15u); }

std::uint64_t SeededOrder::cluster_at(std::uint64_t position, std::uint64_t clusters) const {
    if (blocks_ == Blocks::forward) return position;
    if (blocks_ == Blocks::backward) return clusters - 1 - position;
    unsigned half = 1;
    while (std::uint64_t{1} << 2 * half < clusters) ++half;
    std::uint64_t at = position;
    do at = shuffled(at, half, key_);
    while (at >= clusters);
    return at;
}

std::uint32_t SeededOrder::some_of(std::uint32_t mask) {
    if ((mask & (mask - 1)) == 0) return mask;
    const bool halves = below(4) == 0;
    for (;;) {
        // Draws either the lanes below a random lane, or random lanes.
        std::uint32_t part = halves ? (1u << below(32)) - 1 : static_cast<std::uint32_t>(draw());
        if (below(2) == 0) part = ~part;
        part &= mask;
        if (part != 0 && part != mask) return part;
    }
}

}  // namespace cupola::cpu
