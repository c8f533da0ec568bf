// csrc/cpu/interpreter/tensor_memory.cpp - allocates columns of tensor memory.
#include "cpu/interpreter/tensor_memory.hpp"

#include <algorithm>

namespace cupola::cpu::interpreter {

void TensorMemory::begin() {
    owned_.reset();
    allocations_.clear();
    relinquished_ = false;
}

// New columns have all bits set, which is a NaN in each format: a missing first store shows.
std::optional<unsigned> TensorMemory::allocate(unsigned count, unsigned warp, const DecodedOp* by) {
    const unsigned wanted = count / granule;
    for (unsigned first = 0; first + wanted <= owned_.size(); ++first) {
        unsigned free = 0;
        while (free < wanted && !owned_[first + free]) ++free;
        if (free < wanted) continue;
        for (unsigned n = 0; n < wanted; ++n) owned_.set(first + n);
        if (!cells_) cells_.reset(new std::uint32_t[lane_count * column_count]);
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            const unsigned from = lane * column_count + first * granule;
            std::fill_n(&cells_[from], count, ~0u);
            for (unsigned n = 0; n < count; ++n) written_.reset(from + n);
        }
        allocations_.push_back({first * granule, count, warp, by});
        return first * granule;
    }
    return std::nullopt;
}

bool TensorMemory::release(unsigned first, unsigned count) {
    const auto found =
        std::find_if(allocations_.begin(), allocations_.end(),
                     [&](const Allocation& a) { return a.first == first && a.count == count; });
    if (found == allocations_.end()) return false;
    for (unsigned n = 0; n < count / granule; ++n) owned_.reset(first / granule + n);
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
