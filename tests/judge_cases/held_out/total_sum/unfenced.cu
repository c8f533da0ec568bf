extern "C" __global__ void total_sum(const int* x, unsigned* counter, long long* parts,
                                     long long* total, int n) {
    __shared__ unsigned long long sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    long long part = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) part += x[i];
    atomicAdd(&sum, (unsigned long long)part);
    __syncthreads();
    if (threadIdx.x != 0) return;
    parts[blockIdx.x] = (long long)sum;
    if (atomicInc(counter, gridDim.x - 1) == gridDim.x - 1) {
        long long all = 0;
        for (int block = 0; block < gridDim.x; ++block) all += parts[block];
        *total = all;
    }
}
