// csrc/cpu/api/occupancy.cpp - cu* entry points: occupancy.
#include "cpu/occupancy.hpp"

#include "cpu/context.hpp"
#include "cpu/driver.hpp"
#include "cpu/module.hpp"

using namespace cupola::cpu;

namespace {

void check_flags(unsigned flags) {
    require(flags == CU_OCCUPANCY_DEFAULT || flags == CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE);
}

}  // namespace

CUPOLA_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks,
                                                                         CUfunction function,
                                                                         int block, size_t shared,
                                                                         unsigned int flags) {
    return entry([&] {
        require(blocks && block > 0);
        check_flags(flags);
        *blocks = active_blocks(*Function::from(function), block, shared);
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
        const BlockSize best =
            best_block(*Function::from(function), shared_of_block, shared, limit);
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
        *bytes = available_shared(*Function::from(function), blocks, block);
        return CUDA_SUCCESS;
    });
}
