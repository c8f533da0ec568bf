// csrc/cpu/device/memory/fault_location.cpp - describes an address by the nearest current or freed
// allocation, for messages of faults.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <iterator>

#include "cpu/device/memory/memory.hpp"

namespace cupola::cpu {
namespace {

std::string allocation_text(const char* where, std::uintptr_t begin, std::uintptr_t size) {
    char text[160];
    std::snprintf(text, sizeof text, "%s of %" PRIuPTR " bytes at 0x%" PRIxPTR, where, size, begin);
    return text;
}

}  // namespace

std::string MemoryMap::fault_location(std::uintptr_t address) const {
    std::shared_lock lock(mutex_);
    // A free range of a pool is not an allocation.
    const auto counts = [](const auto& entry) { return entry.second.size != 0; };
    const auto after = std::find_if(table_.upper_bound(address), table_.end(), counts);
    auto before = std::make_reverse_iterator(table_.upper_bound(address));
    before = std::find_if(before, table_.rend(), counts);
    const bool is_before = before != table_.rend(), is_after = after != table_.end();
    if (is_before && address < before->second.end())
        return allocation_text("in an allocation", before->first, before->second.size);
    // Work that was queued before the program freed the memory may still access it.
    const auto pooled = std::make_reverse_iterator(table_.upper_bound(address));
    if (pooled != table_.rend() && pooled->second.size == 0 && pooled->second.reachable &&
        address - pooled->first < pooled->second.capacity) {
        const Range range = ranges_.find(pooled->first);
        return allocation_text("in an allocation that the program has freed,", range.begin,
                               range.end - range.begin);
    }
    const auto freed = std::find_if(freed_.rbegin(), freed_.rend(), [&](const Range& range) {
        return address >= range.begin && address < range.end;
    });
    if (freed != freed_.rend())
        return allocation_text("in a freed allocation", freed->begin, freed->end - freed->begin);
    if (!is_before && !is_after) return "nothing is allocated";
    const std::uintptr_t behind = is_before ? address - before->second.end() : 0,
                         ahead = is_after ? after->first - address : 0;
    if (is_before && (!is_after || behind <= ahead))
        return std::to_string(behind) +
               allocation_text(" bytes behind an allocation", before->first, before->second.size);
    return std::to_string(ahead) +
           allocation_text(" bytes before an allocation", after->first, after->second.size);
}

}  // namespace cupola::cpu
