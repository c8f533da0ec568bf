// csrc/cpu/occupancy.hpp - how many blocks of a kernel a multiprocessor holds, by the rules of the
// device's compute capability, so that block sizes chosen here suit the hardware.
#pragma once

#include <cstddef>

#include "cpu/cuda.hpp"

namespace cupola::cpu {

class Function;

int active_blocks(const Function& function, int block, std::size_t dynamic_shared);

// Clusters of `size` blocks that are resident at once.
int active_clusters(const Function& function, unsigned size, int block, std::size_t dynamic_shared);

struct BlockSize {
    int grid = 0, block = 0;
};
BlockSize best_block(const Function& function, CUoccupancyB2DSize shared_of_block,
                     std::size_t dynamic_shared, int limit);

// Dynamic shared memory a block may use while `blocks` of them share a multiprocessor.
std::size_t available_shared(const Function& function, int blocks, int block);

}  // namespace cupola::cpu
