// Three passes over a row: the largest element, the sum, the quotients.
extern "C" __global__ void softmax(const float* x, float* y, int rows, int columns) {
    __shared__ float parts[4];
    const float* from = x + (size_t)blockIdx.x * columns;
    float* to = y + (size_t)blockIdx.x * columns;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float largest = -INFINITY;
    for (int c = threadIdx.x; c < columns; c += 128) largest = fmaxf(largest, from[c]);
    for (int mask = 16; mask > 0; mask /= 2)
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, mask));
    if (lane == 0) parts[warp] = largest;
    __syncthreads();
    largest = fmaxf(fmaxf(parts[0], parts[1]), fmaxf(parts[2], parts[3]));
    __syncthreads();
    float total = 0;
    for (int c = threadIdx.x; c < columns; c += 128) total += expf(from[c] - largest);
    for (int mask = 16; mask > 0; mask /= 2) total += __shfl_xor_sync(0xffffffffu, total, mask);
    if (lane == 0) parts[warp] = total;
    __syncthreads();
    total = parts[0] + parts[1] + parts[2] + parts[3];
    for (int c = threadIdx.x; c < columns; c += 128) to[c] = expf(from[c] - largest) / total;
}
