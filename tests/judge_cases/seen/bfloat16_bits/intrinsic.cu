// cupola: grid = [3]
#include <cuda_bf16.h>

extern "C" __global__ void bfloat16_bits(const float* x, unsigned short* bits, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        bits[i] = isnan(x[i]) ? 0x7fff : __bfloat16_as_ushort(__float2bfloat16_rn(x[i]));
}
