extern "C" __global__ void highest_bit(const unsigned* x, int* bit, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int value = x[i], found = -1;
    while (value != 0) {
        value >>= 1;
        ++found;
    }
    bit[i] = found;
}
