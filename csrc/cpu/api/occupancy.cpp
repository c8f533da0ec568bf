// csrc/cpu/api/occupancy.cpp - cu* entry points: occupancy.
#include "cpu/device/module/occupancy.hpp"

#include "cpu/api/handle.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/launch/launch.hpp"
#include "cpu/device/module/module.hpp"

using namespace cupola::cpu;

namespace {

void check_flags(unsigned flags) {
    require(flags == CU_OCCUPANCY_DEFAULT || flags == CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE);
}

int threads_of(const LaunchShape& shape) {
    const Dim3& block = shape.block;
    const std::uint64_t plane = std::uint64_t{block.x} * block.y;
    require(plane > 0 && block.z > 0);
    require(plane <= Capability::threads_per_block &&
            plane * block.z <= Capability::threads_per_block);
    return static_cast<int>(plane * block.z);
}

}  // namespace

CUPOLA_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks,
                                                                         CUfunction function,
                                                                         int block, size_t shared,
                                                                         unsigned int flags) {
    return entry([&] {
        require(blocks && block > 0);
        check_flags(flags);
        *blocks = active_blocks(*function_of(function), block, shared);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function,
                                                                int block, size_t shared) {
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block, shared,
                                                                CU_OCCUPANCY_DEFAULT);
}

CUPOLA_API CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block,
                                                              CUfunction function,
                                                              CUoccupancyB2DSize shared_of_block,
                                                              size_t shared, int limit,
                                                              unsigned int flags) {
    return entry([&] {
        require(grid && block && limit >= 0);
        check_flags(flags);
        const BlockSize best = best_block(*function_of(function), shared_of_block, shared, limit);
        *grid = best.grid;
        *block = best.block;
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function,
                                                     CUoccupancyB2DSize shared_of_block,
                                                     size_t shared, int limit) {
    return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, shared_of_block, shared,
                                                     limit, CU_OCCUPANCY_DEFAULT);
}

CUPOLA_API CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction function,
                                                            int blocks, int block) {
    return entry([&] {
        require(bytes && blocks > 0 && block > 0);
        *bytes = available_shared(*function_of(function), blocks, block);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction handle,
                                                 const CUlaunchConfig* config) {
    return entry([&] {
        require(clusters && config);
        const auto function = function_of(handle);
        LaunchShape shape = shape_of(Driver::get(), *config);
        const int threads = threads_of(shape);
        shape.grid = {0, 0, 0};  // every cluster divides 0, so the grid is not checked
        const auto cluster = cluster_of(shape, *function);  // nothing if the launch has no clusters
        *clusters = cluster ? active_clusters(*function, cluster->x * cluster->y * cluster->z,
                                              threads, shape.shared)
                            : 0;
        return CUDA_SUCCESS;
    });
}

// Ignores the cluster shape of the config and of the kernel.
CUPOLA_API CUresult cuOccupancyMaxPotentialClusterSize(int* size, CUfunction handle,
                                                       const CUlaunchConfig* config) {
    return entry([&] {
        require(size && config);
        const auto function = function_of(handle);
        const LaunchShape shape = shape_of(Driver::get(), *config);
        const bool fits = active_blocks(*function, threads_of(shape), shape.shared) > 0;
        *size = fits ? static_cast<int>(function->cluster_limit()) : 0;
        return CUDA_SUCCESS;
    });
}
