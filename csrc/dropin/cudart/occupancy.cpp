// csrc/dropin/cudart/occupancy.cpp - how many blocks and clusters of a kernel fit the device.
#include "dropin/cudart/cudart.hpp"
#include "dropin/cudart/launch_config.hpp"
#include "dropin/cudart/registry.hpp"

using namespace cupola::cudart;

CUPOLA_CUDART cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                        const void* function,
                                                                        int block_size,
                                                                        size_t shared) {
    return entry_with_kernel(function, [&](const Driver& d, CUkernel kernel) {
        return blocks ? d.OccupancyMaxActiveBlocksPerMultiprocessor(blocks, as_function(kernel),
                                                                    block_size, shared)
                      : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* function, int block_size, size_t shared, unsigned flags) {
    return entry_with_kernel(function, [&](const Driver& d, CUkernel kernel) {
        return blocks ? d.OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                            blocks, as_function(kernel), block_size, shared, flags)
                      : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* shared,
                                                                    const void* function,
                                                                    int blocks, int block_size) {
    return entry_with_kernel(function, [&](const Driver& d, CUkernel kernel) {
        return shared ? d.OccupancyAvailableDynamicSMemPerBlock(shared, as_function(kernel), blocks,
                                                                block_size)
                      : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* function,
                                                               const cudaLaunchConfig_t* config) {
    return entry_with_kernel(function, [&](const Driver& d, CUkernel kernel) {
        if (!size || !config) return CUDA_ERROR_INVALID_VALUE;
        const CUlaunchConfig wanted = driver_config(*config);
        return d.OccupancyMaxPotentialClusterSize(size, as_function(kernel), &wanted);
    });
}

CUPOLA_CUDART cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                                         const cudaLaunchConfig_t* config) {
    return entry_with_kernel(function, [&](const Driver& d, CUkernel kernel) {
        if (!clusters || !config) return CUDA_ERROR_INVALID_VALUE;
        const CUlaunchConfig wanted = driver_config(*config);
        return d.OccupancyMaxActiveClusters(clusters, as_function(kernel), &wanted);
    });
}
