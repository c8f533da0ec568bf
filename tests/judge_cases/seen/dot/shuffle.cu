__device__ float warp_sum(float value) {
    for (int mask = 16; mask > 0; mask /= 2) value += __shfl_xor_sync(0xffffffffu, value, mask);
    return value;
}

extern "C" __global__ void dot(const float* a, const float* b, float* product, int n) {
    __shared__ float parts[8];
    float total = 0;
    for (int i = threadIdx.x; i < n; i += 256) total = fmaf(a[i], b[i], total);
    total = warp_sum(total);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = total;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    total = warp_sum(threadIdx.x < 8 ? parts[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) product[0] = total;
}
