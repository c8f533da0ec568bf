// tests/cpu/groups.cu - kernels whose blocks wait for each other, by CUDA C++'s cooperative groups.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// Every block writes its count, then all blocks add up the counts of all blocks:
// sums[round][block].
extern "C" __global__ void rounds(unsigned* places, unsigned* sums, unsigned count) {
    auto grid = cg::this_grid();
    for (unsigned round = 0; round < count; ++round) {
        if (threadIdx.x == 0) places[blockIdx.x] += blockIdx.x + round;
        grid.sync();
        if (threadIdx.x == blockDim.x - 1) {
            unsigned sum = 0;
            for (unsigned block = 0; block < gridDim.x; ++block) sum += places[block];
            sums[round * gridDim.x + blockIdx.x] = sum;
        }
        grid.sync();
    }
}

extern "C" __global__ void valid(unsigned* out) { *out = cg::this_grid().is_valid() ? 2 : 1; }

// Runs the blocks in reverse order: each block waits until the block behind it has stored.
extern "C" __global__ void backwards(volatile unsigned* turn, unsigned* out) {
    if (threadIdx.x == 0) {
        while (*turn != gridDim.x - 1 - blockIdx.x) __nanosleep(100);
        out[blockIdx.x] = *turn;
        __threadfence();
        *turn = *turn + 1;
    }
}

#if __CUDA_ARCH__ >= 900

// out[block][thread]: what the next block of the cluster holds, 5 added by this one.
extern "C" __global__ void ring(unsigned* out) {
    __shared__ unsigned mine[64];
    auto cluster = cg::this_cluster();
    mine[threadIdx.x] = blockIdx.x * 1000 + threadIdx.x;
    cluster.sync();
    const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
    unsigned* other = cluster.map_shared_rank(mine, next);
    atomicAdd(other + threadIdx.x, 5);
    cluster.sync();
    out[blockIdx.x * blockDim.x + threadIdx.x] =
        other[threadIdx.x] + 1000000 * cluster.query_shared_rank(other);
    cluster.sync();  // a block's memory lives as long as others look at it
}

// 16 words a block.
extern "C" __global__ void coordinates(unsigned* out) {
    auto cluster = cg::this_cluster();
    const dim3 index = cluster.block_index(), shape = cluster.dim_blocks(), id = __clusterIdx(),
               all = __clusterGridDimInClusters();
    const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const unsigned values[16] = {index.x,
                                 index.y,
                                 index.z,
                                 shape.x,
                                 shape.y,
                                 shape.z,
                                 id.x,
                                 id.y,
                                 id.z,
                                 all.x,
                                 all.y,
                                 all.z,
                                 cluster.block_rank(),
                                 cluster.num_blocks(),
                                 __clusterDimIsSpecified(),
                                 cluster.thread_rank()};
    if (threadIdx.x == 0)
        for (unsigned i = 0; i < 16; ++i) out[block * 16 + i] = values[i];
}

// A histogram of which each block of the cluster holds a part.
extern "C" __global__ void histogram(const unsigned* in, unsigned count, unsigned* out) {
    extern __shared__ unsigned bins[];  // 32 a block
    auto cluster = cg::this_cluster();
    if (threadIdx.x < 32) bins[threadIdx.x] = 0;
    cluster.sync();
    for (unsigned i = cluster.thread_rank(); i < count; i += cluster.num_threads()) {
        const unsigned bin = in[i] % (32 * cluster.num_blocks());
        atomicAdd(cluster.map_shared_rank(bins, bin / 32) + bin % 32, 1);
    }
    auto token = cluster.barrier_arrive();
    cluster.barrier_wait(std::move(token));
    if (threadIdx.x < 32) out[cluster.block_rank() * 32 + threadIdx.x] = bins[threadIdx.x];
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) pairs(unsigned* out) {
    out[blockIdx.x] = cg::this_cluster().num_blocks();
}
extern "C" __global__ void __cluster_dims__() explicit_only(unsigned* out) {
    out[blockIdx.x] = cg::this_cluster().num_blocks();
}
extern "C" __global__ void __launch_bounds__(128, 1, 4) bounded(unsigned* out) {
    out[blockIdx.x] = cg::this_cluster().num_blocks();
}

// Programmatic dependent launch: the second of two adds to what the first stored.
extern "C" __global__ void first(unsigned* data) {
    data[blockIdx.x * blockDim.x + threadIdx.x] = 7;
    cudaTriggerProgrammaticLaunchCompletion();
}
extern "C" __global__ void second(unsigned* data) {
    cudaGridDependencySynchronize();
    data[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

#endif
