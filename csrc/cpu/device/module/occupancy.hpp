// csrc/cpu/device/module/occupancy.hpp - occupancy: the blocks of a kernel on a multiprocessor, by
// the rules of the device's compute capability, so that block sizes chosen here also suit hardware.
#pragma once

#include <cstddef>

#include "cpu/device/base/cuda.hpp"

namespace cupola::cpu {

class Function;

int active_blocks(const Function& function, int block, std::size_t dynamic_shared);

// The number of clusters of `size` blocks that are resident at once.
int active_clusters(const Function& function, unsigned size, int block, std::size_t dynamic_shared);

struct BlockSize {
    int grid = 0, block = 0;
};
BlockSize best_block(const Function& function, CUoccupancyB2DSize shared_of_block,
                     std::size_t dynamic_shared, int limit);

// The dynamic shared memory of a block if `blocks` of them share a multiprocessor.
std::size_t available_shared(const Function& function, int blocks, int block);

}  // namespace cupola::cpu
