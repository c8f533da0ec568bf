// csrc/cpu/device/memory/range_table.cpp - copy-on-write changes of the table of mapped ranges.
#include "cpu/device/memory/range_table.hpp"

#include <algorithm>
#include <memory>
#include <vector>

namespace cupola::cpu {

struct RangeTable::Leaf {
    static constexpr std::size_t capacity = 64;
    std::vector<Range> ranges;
};

struct RangeTable::Index {
    // The entries are sorted. `begin` repeats the first address of the leaf, so that a search reads
    // one array.
    struct Entry {
        std::uintptr_t begin;
        std::shared_ptr<const Leaf> leaf;
    };
    std::vector<Entry> entries;

    std::size_t position(std::uintptr_t address) const {
        const auto after = std::upper_bound(
            entries.begin(), entries.end(), address,
            [](std::uintptr_t value, const Entry& entry) { return value < entry.begin; });
        return static_cast<std::size_t>(after - entries.begin());
    }
};

namespace {
std::size_t place(const std::vector<Range>& ranges, std::uintptr_t address) {
    const auto after = std::upper_bound(
        ranges.begin(), ranges.end(), address,
        [](std::uintptr_t value, const Range& range) { return value < range.begin; });
    return static_cast<std::size_t>(after - ranges.begin());
}
}  // namespace

Range RangeTable::find(std::uintptr_t address) const {
    const Index* index = index_.load(std::memory_order_acquire);
    if (!index) return {};
    const std::size_t leaf = index->position(address);
    if (leaf == 0) return {};
    const auto& ranges = index->entries[leaf - 1].leaf->ranges;
    const std::size_t at = place(ranges, address);
    if (at == 0 || address >= ranges[at - 1].end) return {};
    return ranges[at - 1];
}

void RangeTable::replace(const Index* now) {
    const Index* before = index_.exchange(now, std::memory_order_acq_rel);
    if (before) retire_([before] { delete before; });
}

void RangeTable::insert(Range range) {
    const Index* index = index_.load(std::memory_order_relaxed);
    auto now = std::make_unique<Index>();
    if (index) now->entries = index->entries;
    std::size_t at = now->position(range.begin);
    if (now->entries.empty()) {
        auto leaf = std::make_shared<Leaf>();
        leaf->ranges.push_back(range);
        now->entries.push_back({range.begin, std::move(leaf)});
    } else {
        if (at > 0) --at;
        auto leaf = std::make_shared<Leaf>(*now->entries[at].leaf);
        auto& ranges = leaf->ranges;
        ranges.insert(ranges.begin() + static_cast<std::ptrdiff_t>(place(ranges, range.begin)),
                      range);
        if (ranges.size() > Leaf::capacity) {
            const auto half = ranges.begin() + static_cast<std::ptrdiff_t>(ranges.size() / 2);
            auto upper = std::make_shared<Leaf>();
            upper->ranges.assign(half, ranges.end());
            ranges.erase(half, ranges.end());
            const std::uintptr_t begin = upper->ranges.front().begin;
            now->entries.insert(now->entries.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                                {begin, std::move(upper)});
        }
        const std::uintptr_t begin = ranges.front().begin;
        now->entries[at] = {begin, std::move(leaf)};
    }
    replace(now.release());
}

void RangeTable::erase(std::uintptr_t begin) {
    const Index* index = index_.load(std::memory_order_relaxed);
    auto now = std::make_unique<Index>(*index);
    const std::size_t at = now->position(begin) - 1;
    auto leaf = std::make_shared<Leaf>(*now->entries[at].leaf);
    auto& ranges = leaf->ranges;
    ranges.erase(ranges.begin() + static_cast<std::ptrdiff_t>(place(ranges, begin)) - 1);
    if (ranges.empty()) {
        now->entries.erase(now->entries.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
        const std::uintptr_t first = ranges.front().begin;
        now->entries[at] = {first, std::move(leaf)};
    }
    replace(now.release());
}

}  // namespace cupola::cpu
