// csrc/cpu/base/capability.hpp - the limits of a compute capability.
#pragma once

#include <cstddef>

namespace cupola::cpu {

// From the table "Technical Specifications per Compute Capability" in the CUDA programming guide.
struct Capability {
    int number;  // 90 for 9.0
    int threads_per_multiprocessor;
    int blocks_per_multiprocessor;
    int shared_per_multiprocessor;  // in bytes, like the next three limits
    int shared_per_block_optin;
    int shared_reserved_per_block;  // reserved by the system
    int registers_per_block;

    static constexpr int warp = 32;
    static constexpr int threads_per_block = 1024;
    static constexpr int registers_per_multiprocessor = 65536;
    static constexpr int shared_per_block = 48 << 10;
    static constexpr int shared_granularity = 128;
    static constexpr int register_granularity = 256;  // unit of allocation for a warp
    static constexpr unsigned grid_x = 2147483647, grid_yz = 65535;
    static constexpr unsigned block_xy = 1024, block_z = 64;

    bool clusters() const { return number >= 90; }
    // The largest cluster in blocks: portable, or on this device.
    unsigned cluster_limit(bool non_portable) const {
        return !clusters() ? 1 : non_portable && number < 120 ? 16 : 8;
    }

    // `number` must be a value that Settings accepts.
    static const Capability& of(int number);
};

}  // namespace cupola::cpu
