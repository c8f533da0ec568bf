extern "C" __global__ void bfloat16_bits(const float* x, unsigned short* bits, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned word = __float_as_uint(x[i]);
    bits[i] = x[i] != x[i] ? 0x7fff : word >> 16;
}
