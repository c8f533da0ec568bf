// The first warp waits for a flag of each other warp, behind a fence.
extern "C" __global__ void row_norms(const float* x, float* norms, int rows, int columns) {
    __shared__ float parts[4];
    __shared__ volatile int ready[4];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (threadIdx.x < 4) ready[threadIdx.x] = 0;
    __syncthreads();
    float part = 0;
    for (int c = threadIdx.x; c < columns; c += 128) {
        const float value = x[(size_t)blockIdx.x * columns + c];
        part = fmaf(value, value, part);
    }
    for (int mask = 16; mask > 0; mask /= 2) part += __shfl_xor_sync(0xffffffffu, part, mask);
    if (lane == 0) {
        if (warp > 0) {
            parts[warp] = part;
            __threadfence_block();
            ready[warp] = 1;
        } else {
            for (int other = 1; other < 4; ++other) {
                while (ready[other] == 0) {
                }
                __threadfence_block();
                part += parts[other];
            }
            norms[blockIdx.x] = sqrtf(part);
        }
    }
}
