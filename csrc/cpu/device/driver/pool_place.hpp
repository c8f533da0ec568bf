// csrc/cpu/device/driver/pool_place.hpp - the place of a pool's memory, and the pools of places.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "cpu/device/base/cuda.hpp"

namespace cupola::cpu {

class Pool;

// The memory of a pool: page-locked of a device or the host, or managed with a preferred location.
// Equivalent places compare equal.
struct PoolPlace {
    CUmemAllocationType type = CU_MEM_ALLOCATION_TYPE_PINNED;
    CUmemLocation location{CU_MEM_LOCATION_TYPE_DEVICE, 0};

    // `devices` is the number of devices. Throws INVALID_VALUE for an unknown location. Only a
    // `fresh` pool can use the current NUMA node.
    static PoolPlace of(std::size_t devices, CUmemAllocationType type, CUmemLocation location,
                        bool fresh);
    bool on_device() const { return location.type == CU_MEM_LOCATION_TYPE_DEVICE; }
    bool managed() const { return type == CU_MEM_ALLOCATION_TYPE_MANAGED; }
    bool operator<(const PoolPlace& other) const;
    bool operator==(const PoolPlace& other) const { return !(*this < other) && !(other < *this); }
};

// The pools of places other than device memory; a device stores its own pools.
struct PoolTable {
    struct Pools {
        std::shared_ptr<Pool> first, current;
    };
    std::mutex mutex;
    std::map<PoolPlace, Pools> all;
};

}  // namespace cupola::cpu
