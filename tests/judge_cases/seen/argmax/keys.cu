// A 64-bit key orders by value, then by the smaller index; one atomic maximum a warp.
extern "C" __global__ void argmax(const int* x, int* result, int rows, int columns) {
    __shared__ unsigned long long largest;
    if (threadIdx.x == 0) largest = 0;
    __syncthreads();
    const int* row = x + (size_t)blockIdx.x * columns;
    unsigned long long key = 0;
    for (int c = threadIdx.x; c < columns; c += blockDim.x) {
        const unsigned ordered = (unsigned)row[c] ^ 0x80000000u;
        const unsigned long long candidate = ((unsigned long long)ordered << 32) | (unsigned)~c;
        key = candidate > key ? candidate : key;
    }
    for (int mask = 16; mask > 0; mask /= 2) {
        const unsigned long long other = __shfl_xor_sync(0xffffffffu, key, mask);
        key = other > key ? other : key;
    }
    if (threadIdx.x % 32 == 0) atomicMax(&largest, key);
    __syncthreads();
    if (threadIdx.x == 0) result[blockIdx.x] = (int)~(unsigned)largest;
}
