// The last block that is done adds the parts. A fence makes them visible before the counter.
__device__ long long block_sum(long long value) {
    __shared__ long long warps[8];
    for (int mask = 16; mask > 0; mask /= 2) value += __shfl_xor_sync(0xffffffffu, value, mask);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0;
    for (int warp = 0; warp < 8; ++warp) value += warps[warp];
    return value;
}

extern "C" __global__ void total_sum(const int* x, unsigned* counter, volatile long long* parts,
                                     long long* total, int n) {
    __shared__ bool last;
    long long sum = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) sum += x[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(counter, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        __threadfence();
        sum = 0;
        for (int part = 0; part < gridDim.x; ++part) sum += parts[part];
        *total = sum;
    }
}
