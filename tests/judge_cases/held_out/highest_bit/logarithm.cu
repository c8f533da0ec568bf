extern "C" __global__ void highest_bit(const unsigned* x, int* bit, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) bit[i] = x[i] == 0 ? -1 : (int)floorf(log2f((float)x[i]));
}
