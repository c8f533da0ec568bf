#include <cuda_fp16.h>

extern "C" __global__ void half_row_sums(const __half* x, float* sums, int rows, int columns) {
    const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    __half total = __float2half(0.0f);
    for (int c = lane; c < columns; c += 32) total = __hadd(total, x[(size_t)row * columns + c]);
    for (int mask = 16; mask > 0; mask /= 2)
        total = __hadd(total, __shfl_xor_sync(0xffffffffu, total, mask));
    if (lane == 0) sums[row] = __half2float(total);
}
