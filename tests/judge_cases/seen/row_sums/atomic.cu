// Atomic additions to shared memory, in any order: the rounding differs within the tolerance.
extern "C" __global__ void row_sums(const float* x, float* sums, int rows, int columns) {
    __shared__ float total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    for (int c = threadIdx.x; c < columns; c += blockDim.x)
        atomicAdd(&total, x[(size_t)blockIdx.x * columns + c]);
    __syncthreads();
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}
