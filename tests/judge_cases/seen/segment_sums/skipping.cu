extern "C" __global__ void segment_sums(const int* offsets, const float* values, float* sums,
                                        int segments) {
    const int segment = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (segment >= segments) return;
    const int begin = offsets[segment], end = offsets[segment + 1];
    if (begin == end) return;
    float total = 0;
    for (int i = begin + lane; i < end; i += 32) total += values[i];
    for (int mask = 16; mask > 0; mask /= 2) total += __shfl_xor_sync(0xffffffffu, total, mask);
    if (lane == 0) sums[segment] = total;
}
