// cupola: grid = ["2 * rows"]
// cupola: cluster = [2]
#include <cooperative_groups.h>

extern "C" __global__ void row_norms(const float* x, float* norms, int rows, int columns) {
    __shared__ float total;
    auto cluster = cooperative_groups::this_cluster();
    const int row = blockIdx.x / 2, rank = cluster.block_rank();
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    float part = 0;
    for (int c = rank * 128 + threadIdx.x; c < columns; c += 256) {
        const float value = x[(size_t)row * columns + c];
        part += value * value;
    }
    for (int mask = 16; mask > 0; mask /= 2) part += __shfl_xor_sync(0xffffffffu, part, mask);
    if (threadIdx.x % 32 == 0) atomicAdd(&total, part);
    __syncthreads();
    if (rank == 0 && threadIdx.x == 0)
        norms[row] = sqrtf(total + *cluster.map_shared_rank(&total, 1));
    cluster.sync();
}
