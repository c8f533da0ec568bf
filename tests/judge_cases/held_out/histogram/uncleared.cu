extern "C" __global__ void histogram(const unsigned char* values, int* counts, int n) {
    __shared__ int bins[256];
    if (threadIdx.x < 128) bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += 256) atomicAdd(&bins[values[i]], 1);
    __syncthreads();
    counts[threadIdx.x] = bins[threadIdx.x];
}
