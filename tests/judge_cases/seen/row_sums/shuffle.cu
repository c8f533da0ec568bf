extern "C" __global__ void row_sums(const float* x, float* sums, int rows, int columns) {
    __shared__ float parts[32];
    const float* row = x + (size_t)blockIdx.x * columns;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float total = 0;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) total += row[c];
    for (int offset = 16; offset > 0; offset /= 2)
        total += __shfl_down_sync(0xffffffffu, total, offset);
    if (lane == 0) parts[warp] = total;
    __syncthreads();
    if (warp == 0) {
        total = lane < (blockDim.x + 31) / 32 ? parts[lane] : 0.0f;
        for (int offset = 16; offset > 0; offset /= 2)
            total += __shfl_down_sync(0xffffffffu, total, offset);
        if (lane == 0) sums[blockIdx.x] = total;
    }
}
