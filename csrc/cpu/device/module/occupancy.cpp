// csrc/cpu/device/module/occupancy.cpp - the occupancy calculation of the CUDA programming guide.
#include "cpu/device/module/occupancy.hpp"

#include <algorithm>

#include "cpu/device/base/failure.hpp"
#include "cpu/device/driver/device.hpp"
#include "cpu/device/module/module.hpp"

namespace cupola::cpu {
namespace {

int round_up(int value, int to) { return (value + to - 1) / to * to; }
int warps_of(int block) { return (block + Capability::warp - 1) / Capability::warp; }

}  // namespace

int active_blocks(const Function& function, int block, std::size_t dynamic_shared) {
    const Capability& limits = function.device().capability();
    const Kernel& kernel = function.kernel();
    if (block > Capability::threads_per_block ||
        dynamic_shared > function.attributes.dynamic_limit())
        return 0;
    const int warps = warps_of(block);
    const int by_warps = limits.threads_per_multiprocessor / Capability::warp / warps;
    int by_registers = limits.blocks_per_multiprocessor;
    if (kernel.registers() > 0) {
        // Registers are allocated to warps, and each warp runs in one of four partitions.
        const int warp_registers = round_up(static_cast<int>(kernel.registers()) * Capability::warp,
                                            Capability::register_granularity);
        const int quarter = Capability::registers_per_multiprocessor / 4 / warp_registers;
        by_registers = quarter * 4 / warps;
    }
    int by_shared = limits.blocks_per_multiprocessor;
    const int shared =
        round_up(static_cast<int>(kernel.static_shared_bytes()) + static_cast<int>(dynamic_shared) +
                     limits.shared_reserved_per_block,
                 Capability::shared_granularity);
    if (shared > 0) by_shared = limits.shared_per_multiprocessor / shared;
    return std::min({limits.blocks_per_multiprocessor, by_warps, by_registers, by_shared});
}

// A cluster fits if a block does: one worker runs the whole cluster.
int active_clusters(const Function& function, unsigned size, int block,
                    std::size_t dynamic_shared) {
    const int blocks = active_blocks(function, block, dynamic_shared);
    if (blocks == 0) return 0;
    return std::max(1, blocks * function.device().multiprocessors() / static_cast<int>(size));
}

BlockSize best_block(const Function& function, CUoccupancyB2DSize shared_of_block,
                     std::size_t dynamic_shared, int limit) {
    const Capability& limits = function.device().capability();
    int largest =
        std::min(static_cast<int>(function.kernel().max_threads()), Capability::threads_per_block);
    if (limit > 0) largest = std::min(largest, limit);
    BlockSize best;
    int best_threads = 0;
    const int first = round_up(largest, Capability::warp);
    for (int aligned = first; aligned > 0; aligned -= Capability::warp) {
        const int block = std::min(aligned, largest);
        const std::size_t shared = shared_of_block ? shared_of_block(block) : dynamic_shared;
        const int blocks = active_blocks(function, block, shared);
        if (block * blocks > best_threads) {
            best_threads = block * blocks;
            best = {blocks * function.device().multiprocessors(), block};
        }
        if (best_threads == limits.threads_per_multiprocessor) break;
    }
    return best;
}

std::size_t available_shared(const Function& function, int blocks, int block) {
    require(blocks <= active_blocks(function, block, 0));
    const Capability& limits = function.device().capability();
    int each = limits.shared_per_multiprocessor / blocks;
    each -= each % Capability::shared_granularity;
    each -= static_cast<int>(function.kernel().static_shared_bytes());
    return std::min<std::size_t>(static_cast<unsigned>(std::max(0, each)),
                                 function.attributes.dynamic_limit());
}

}  // namespace cupola::cpu
