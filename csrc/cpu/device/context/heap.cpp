// csrc/cpu/device/context/heap.cpp - first fit. Metadata is outside of the pieces, so device code
// cannot corrupt the heap.
#include "cpu/device/context/heap.hpp"

#include <algorithm>
#include <iterator>

#include "cpu/device/driver/device.hpp"
#include "cpu/device/driver/driver.hpp"

namespace cupola::cpu {
namespace {

constexpr std::uint64_t granularity = 16;

}  // namespace

// Owned by the context, so it is freed with the context.
bool Heap::make() {
    if (made_) return !used_.empty() || !free_.empty();
    made_ = true;
    const std::size_t size = limit_.load() / granularity * granularity;
    if (size == 0) return false;
    Allocation like;
    like.device = device_.ordinal();
    like.context = &context_;
    like.module = true;
    try {
        const auto begin =
            device_.driver().memory.allocate(like, size, granularity, device_.budget());
        free_.emplace(begin, size);
    } catch (const Failure&) {
        return false;  // malloc returns null
    }
    return true;
}

std::uintptr_t Heap::allocate(std::uint64_t bytes) {
    std::lock_guard lock(mutex_);
    if (bytes == 0 || !make()) return 0;
    if (bytes > ~std::uint64_t{0} - granularity) return 0;
    const std::uint64_t size = (bytes + granularity - 1) / granularity * granularity;
    const auto it = std::find_if(free_.begin(), free_.end(),
                                 [size](const auto& piece) { return piece.second >= size; });
    if (it == free_.end()) return 0;
    const auto [begin, whole] = *it;
    used_.emplace(begin, size);
    free_.erase(it);
    if (whole > size) free_.emplace(begin + size, whole - size);
    device_.driver().memory.allocated_piece(begin, bytes);
    return begin;
}

bool Heap::release(std::uintptr_t address) {
    std::lock_guard lock(mutex_);
    const auto it = used_.find(address);
    if (it == used_.end()) return false;
    device_.driver().memory.freed_piece(address);
    const auto [at, fresh] = free_.emplace(it->first, it->second);
    used_.erase(it);
    const auto join = [this](auto first, auto second) {
        if (first->first + first->second != second->first) return second;
        first->second += second->second;
        free_.erase(second);
        return first;
    };
    auto whole = at;
    if (whole != free_.begin()) whole = join(std::prev(whole), whole);
    if (std::next(whole) != free_.end()) join(whole, std::next(whole));
    return true;
}

bool Heap::made() {
    std::lock_guard lock(mutex_);
    return made_;
}

void Heap::reset() {
    std::lock_guard lock(mutex_);
    made_ = false;
    for (const auto& [begin, bytes] : used_) device_.driver().memory.freed_piece(begin);
    used_.clear();
    free_.clear();
}

}  // namespace cupola::cpu
