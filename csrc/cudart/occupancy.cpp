// csrc/cudart/occupancy.cpp - how many blocks and clusters of a kernel fit the device.
#include "cudart/cudart.hpp"
#include "cudart/launch_config.hpp"
#include "cudart/registry.hpp"

namespace cupola::cudart {
namespace {

// The driver takes a kernel where it takes a function, and computes for the current device.
template <class Call>
cudaError_t entry_with_function(const void* function, Call call) {
    return entry([&](const Driver& d) -> cudaError_t {
        CUkernel kernel = nullptr;
        const cudaError_t found = Registry::get().find_kernel(function, kernel);
        return found == cudaSuccess ? result_of(call(d, reinterpret_cast<CUfunction>(kernel)))
                                    : found;
    });
}

}  // namespace
}  // namespace cupola::cudart

using namespace cupola::cudart;

CUPOLA_CUDART cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                        const void* function,
                                                                        int block_size,
                                                                        size_t shared) {
    return entry_with_function(function, [&](const Driver& d, CUfunction kernel) {
        return blocks
                   ? d.OccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, block_size, shared)
                   : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* function, int block_size, size_t shared, unsigned flags) {
    return entry_with_function(function, [&](const Driver& d, CUfunction kernel) {
        return blocks ? d.OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                            blocks, kernel, block_size, shared, flags)
                      : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* shared,
                                                                    const void* function,
                                                                    int blocks, int block_size) {
    return entry_with_function(function, [&](const Driver& d, CUfunction kernel) {
        return shared ? d.OccupancyAvailableDynamicSMemPerBlock(shared, kernel, blocks, block_size)
                      : CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_CUDART cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* function,
                                                               const cudaLaunchConfig_t* config) {
    return entry_with_function(function, [&](const Driver& d, CUfunction kernel) {
        if (!size || !config) return CUDA_ERROR_INVALID_VALUE;
        const CUlaunchConfig wanted = driver_config(*config);
        return d.OccupancyMaxPotentialClusterSize(size, kernel, &wanted);
    });
}

CUPOLA_CUDART cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                                         const cudaLaunchConfig_t* config) {
    return entry_with_function(function, [&](const Driver& d, CUfunction kernel) {
        if (!clusters || !config) return CUDA_ERROR_INVALID_VALUE;
        const CUlaunchConfig wanted = driver_config(*config);
        return d.OccupancyMaxActiveClusters(clusters, kernel, &wanted);
    });
}
