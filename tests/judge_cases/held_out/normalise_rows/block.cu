extern "C" __global__ void normalise_rows(float* x, const float* weights, int rows, int columns) {
    __shared__ float parts[4];
    float* row = x + (size_t)blockIdx.x * columns;
    float total = 0;
    for (int c = threadIdx.x; c < columns; c += 128) total += row[c] * weights[c];
    for (int mask = 16; mask > 0; mask /= 2) total += __shfl_xor_sync(0xffffffffu, total, mask);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = total;
    __syncthreads();
    total = parts[0] + parts[1] + parts[2] + parts[3];
    for (int c = threadIdx.x; c < columns; c += 128) row[c] = row[c] * weights[c] / total;
}
