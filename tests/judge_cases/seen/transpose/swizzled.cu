// Exclusive-or of row and column spreads the elements over the banks, without padding.
extern "C" __global__ void transpose(const float* x, float* y, int rows, int columns) {
    __shared__ float tile[32 * 32];
    const int tx = threadIdx.x, first_x = blockIdx.x * 32, first_y = blockIdx.y * 32;
    for (int ty = threadIdx.y; ty < 32; ty += blockDim.y)
        if (first_x + tx < columns && first_y + ty < rows)
            tile[ty * 32 + (tx ^ ty)] = x[(size_t)(first_y + ty) * columns + first_x + tx];
    __syncthreads();
    for (int ty = threadIdx.y; ty < 32; ty += blockDim.y)
        if (first_y + tx < rows && first_x + ty < columns)
            y[(size_t)(first_x + ty) * rows + first_y + tx] = tile[tx * 32 + (ty ^ tx)];
}
