extern "C" __global__ void bfloat16_bits(const float* x, unsigned short* bits, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned word = __float_as_uint(x[i]);
    const bool nan = (word & 0x7fffffffu) > 0x7f800000u;
    bits[i] = nan ? 0x7fff : (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
}
