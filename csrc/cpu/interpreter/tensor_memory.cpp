// csrc/cpu/interpreter/tensor_memory.cpp - allocates columns of tensor memory.
#include "cpu/interpreter/tensor_memory.hpp"

#include <algorithm>

namespace cupola::cpu::interpreter {

void TensorMemory::begin() {
    owned_.reset();
    allocations_.clear();
    relinquished_ = false;
    request.reset();
}

// The first of so many granules side by side that are free.
std::optional<unsigned> TensorMemory::find_free(const Columns& owned, unsigned count) {
    const unsigned wanted = count / granule;
    for (unsigned first = 0; first + wanted <= owned.size(); ++first) {
        unsigned free = 0;
        while (free < wanted && !owned[first + free]) ++free;
        if (free == wanted) return first * granule;
    }
    return std::nullopt;
}

bool TensorMemory::permits(const Wanted& wanted) const {
    return allocations_.empty() || !(wanted.exclusive || allocations_[0].exclusive);
}

// New columns have all bits set, which is a NaN in each format: a missing first store shows.
void TensorMemory::take(unsigned first, const Wanted& wanted, unsigned warp, const DecodedOp* by) {
    const unsigned count = wanted.count;
    for (unsigned n = 0; n < count / granule; ++n) owned_.set(first / granule + n);
    if (!cells_) cells_.reset(new std::uint32_t[lane_count * column_count]);
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        const unsigned from = lane * column_count + first;
        std::fill_n(&cells_[from], count, ~0u);
        for (unsigned n = 0; n < count; ++n) written_.reset(from + n);
    }
    allocations_.push_back({first, count, warp, wanted.exclusive, by});
}

std::optional<unsigned> TensorMemory::allocate(const Wanted& wanted, unsigned warp,
                                               const DecodedOp* by) {
    if (!permits(wanted)) return std::nullopt;
    const auto first = find_free(owned_, wanted.count);
    if (first) take(*first, wanted, warp, by);
    return first;
}

std::optional<unsigned> TensorMemory::allocate_both(TensorMemory& a, unsigned warp_a,
                                                    TensorMemory& b, unsigned warp_b,
                                                    const Wanted& wanted, const DecodedOp* by) {
    if (!a.permits(wanted) || !b.permits(wanted)) return std::nullopt;
    const auto first = find_free(a.owned_ | b.owned_, wanted.count);
    if (!first) return first;
    a.take(*first, wanted, warp_a, by);
    b.take(*first, wanted, warp_b, by);
    return first;
}

bool TensorMemory::release(unsigned first, const Wanted& given) {
    const auto found =
        std::find_if(allocations_.begin(), allocations_.end(), [&](const Allocation& a) {
            return a.first == first && a.count == given.count && a.exclusive == given.exclusive;
        });
    if (found == allocations_.end()) return false;
    for (unsigned n = 0; n < given.count / granule; ++n) owned_.reset(first / granule + n);
    allocations_.erase(found);
    return true;
}

bool TensorMemory::owns(unsigned first, unsigned count) const {
    if (first >= column_count || count > column_count - first) return false;
    for (unsigned column = first; column < first + count; ++column)
        if (!owned_[column / granule]) return false;
    return true;
}

}  // namespace cupola::cpu::interpreter
