// Each thread scans every 128th element; two levels of shuffles combine the threads.
__device__ void take(int& best, int& index, int other, int other_index) {
    if (other > best || (other == best && other_index < index)) {
        best = other;
        index = other_index;
    }
}

__device__ void combine(int& best, int& index) {
    for (int offset = 16; offset > 0; offset /= 2) {
        const int other = __shfl_down_sync(0xffffffffu, best, offset);
        const int other_index = __shfl_down_sync(0xffffffffu, index, offset);
        take(best, index, other, other_index);
    }
}

extern "C" __global__ void argmax(const int* x, int* result, int rows, int columns) {
    __shared__ int bests[4], indices[4];
    const int* row = x + (size_t)blockIdx.x * columns;
    int best = INT_MIN, index = INT_MAX;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) take(best, index, row[c], c);
    combine(best, index);
    if (threadIdx.x % 32 == 0) {
        bests[threadIdx.x / 32] = best;
        indices[threadIdx.x / 32] = index;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 4; ++w) take(best, index, bests[w], indices[w]);
        result[blockIdx.x] = index;
    }
}
