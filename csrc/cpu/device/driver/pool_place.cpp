// csrc/cpu/device/driver/pool_place.cpp - checks and compares places of pools.
#include "cpu/device/driver/pool_place.hpp"

#include <tuple>

#include "cpu/device/base/failure.hpp"

namespace cupola::cpu {

PoolPlace PoolPlace::of(std::size_t devices, CUmemAllocationType type, CUmemLocation location,
                        bool fresh) {
    const bool managed = type == CU_MEM_ALLOCATION_TYPE_MANAGED;
    require(managed || type == CU_MEM_ALLOCATION_TYPE_PINNED);
    PoolPlace place{type, {location.type, 0}};
    switch (static_cast<int>(location.type)) {
        case CU_MEM_LOCATION_TYPE_NONE:
            require(managed);
            return place;
        case CU_MEM_LOCATION_TYPE_DEVICE:
            place.location.id = location.id;
            require(location.id >= 0 && static_cast<std::size_t>(location.id) < devices);
            return place;
        case CU_MEM_LOCATION_TYPE_HOST:
            return place;
        case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
            require(managed && fresh);
            place.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
            return place;
        case CU_MEM_LOCATION_TYPE_HOST_NUMA:  // the host counts as one node
            require(location.id == 0);
            return place;
        default:
            fail(managed ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE);
    }
}

bool PoolPlace::operator<(const PoolPlace& other) const {
    return std::tie(type, location.type, location.id) <
           std::tie(other.type, other.location.type, other.location.id);
}

}  // namespace cupola::cpu
