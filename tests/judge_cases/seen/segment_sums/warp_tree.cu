// A warp runs in step, so that its lanes need no barrier.
extern "C" __global__ void segment_sums(const int* offsets, const float* values, float* sums,
                                        int segments) {
    __shared__ volatile float exchange[4][32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, segment = blockIdx.x * 4 + warp;
    if (segment >= segments) return;
    float total = 0;
    for (int i = offsets[segment] + lane; i < offsets[segment + 1]; i += 32) total += values[i];
    exchange[warp][lane] = total;
    for (int half = 16; half > 0; half /= 2)
        if (lane < half) exchange[warp][lane] += exchange[warp][lane + half];
    if (lane == 0) sums[segment] = exchange[warp][0];
}
