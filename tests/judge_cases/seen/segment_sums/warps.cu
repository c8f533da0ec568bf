extern "C" __global__ void segment_sums(const int* offsets, const float* values, float* sums,
                                        int segments) {
    const int segment = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (segment >= segments) return;
    const int end = offsets[segment + 1];
    float total = 0;
    for (int i = offsets[segment] + lane; i < end; i += 32) total += values[i];
    for (int mask = 16; mask > 0; mask /= 2) total += __shfl_xor_sync(0xffffffffu, total, mask);
    if (lane == 0) sums[segment] = total;
}
