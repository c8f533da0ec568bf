// csrc/cpu/device/driver/graph_memory_table.hpp - the memory that graph nodes allocate and free.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "cpu/device/base/cuda.hpp"

namespace cupola::cpu {

class GraphMemory;

// The bytes of a device, counted like NVIDIA's driver: freed memory stays reserved for later
// launches until a trim. All reserved memory counts as used.
struct GraphMemoryLevels {
    cuuint64_t live = 0, kept = 0;  // kept: the maximum of `live` since the last trim
    cuuint64_t used_high = 0, reserved_high = 0;

    void take(std::size_t bytes) {
        kept = std::max(kept, live += bytes);
        used_high = std::max(used_high, kept);
        reserved_high = std::max(reserved_high, kept);
    }
};

struct GraphMemoryTable {
    std::mutex mutex;
    std::map<std::uintptr_t, std::weak_ptr<GraphMemory>> all;     // by address
    std::map<std::uintptr_t, std::shared_ptr<GraphMemory>> live;  // allocated memory stays alive
    std::map<int, GraphMemoryLevels> levels;                      // by the device's ordinal
};

}  // namespace cupola::cpu
