// tests/ptx/toolkit/half.cu - arithmetic and functions of half, bfloat16 and numbers of 8 bits.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#define KERNEL(name, T, expression)                                              \
    extern "C" __global__ void name(const T* x, const T* y, T* out, int count) { \
        const int i = blockIdx.x * blockDim.x + threadIdx.x;                     \
        if (i >= count) return;                                                  \
        const T a = x[i], b = y[i];                                              \
        out[i] = (expression);                                                   \
    }
#define BOTH(name, expression) \
    KERNEL(half_##name, __half, expression) KERNEL(bfloat_##name, __nv_bfloat16, expression)
#define PAIRS(name, expression) \
    KERNEL(half2_##name, __half2, expression) KERNEL(bfloat2_##name, __nv_bfloat162, expression)

// clang-format off
BOTH(add, __hadd(a, b))
BOTH(sub, __hsub(a, b))
BOTH(mul, __hmul(a, b))
BOTH(div, __hdiv(a, b))
BOTH(fma, __hfma(a, b, a))
BOTH(min, __hmin(a, b))
BOTH(max, __hmax(a, b))
BOTH(neg, __hneg(a))
BOTH(abs, __habs(a))
BOTH(sqrt, hsqrt(__habs(a)))
BOTH(rsqrt, hrsqrt(__habs(a)))
BOTH(rcp, hrcp(a))
BOTH(exp, hexp(a))
BOTH(exp2, hexp2(a))
BOTH(exp10, hexp10(a))
BOTH(log, hlog(__habs(a)))
BOTH(log2, hlog2(__habs(a)))
BOTH(log10, hlog10(__habs(a)))
BOTH(sin, hsin(a))
BOTH(cos, hcos(a))
BOTH(tanh, htanh(a))
BOTH(floor, hfloor(a))
BOTH(ceil, hceil(a))
BOTH(trunc, htrunc(a))
BOTH(rint, hrint(a))
PAIRS(add, __hadd2(a, b))
PAIRS(fma, __hfma2(a, b, a))
PAIRS(max, __hmax2(a, b))
PAIRS(less, __hlt2(a, b))
PAIRS(equal, __heq2(a, b))
PAIRS(unordered, __hleu2(a, b))
PAIRS(relu, __hfma2_relu(a, b, a))
PAIRS(div, __h2div(a, b))
// clang-format on

// Bits that are compared: 1, 2, 4 for less, equal, greater or equal of single ones; 8 of pairs.
extern "C" __global__ void comparisons(const __half2* x, const __half2* y, unsigned* out) {
    const __half2 a = x[threadIdx.x], b = y[threadIdx.x];
    out[threadIdx.x] = unsigned(__hlt(a.x, b.x)) | unsigned(__heq(a.x, b.x)) << 1 |
                       unsigned(__hge(a.x, b.x)) << 2 | unsigned(__hbeq2(a, b)) << 3 |
                       (__hgt2_mask(a, b) & 0x10010);
}
extern "C" __global__ void eights(const float* x, unsigned char* e4m3, unsigned char* e5m2,
                                  float* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const __nv_fp8_e4m3 a(x[i]);
    const __nv_fp8_e5m2 b(x[i]);
    e4m3[i] = a.__x;
    e5m2[i] = b.__x;
    out[2 * i] = float(a);
    out[2 * i + 1] = float(b);
}
// Bytes and half-words at once.
extern "C" __global__ void words(const unsigned* x, const unsigned* y, unsigned* out) {
    const unsigned i = threadIdx.x, a = x[i], b = y[i];
    const unsigned made[] = {__vadd4(a, b),
                             __vsub2(a, b),
                             __vabsdiffu4(a, b),
                             __vsads2(a, b),
                             __vmaxs2(a, b),
                             __vminu4(a, b),
                             __vavgu4(a, b),
                             __vcmpgts4(a, b),
                             __vaddss2(a, b),
                             __vsubus4(a, b),
                             unsigned(__viaddmax_s16x2(a, b, a)),
                             unsigned(__vimin3_s32(a, b, 5)),
                             __dp4a(a, b, 7u),
                             __brev(a),
                             __byte_perm(a, b, 0x2461),
                             __funnelshift_l(a, b, a & 31)};
    for (unsigned n = 0; n < 16; ++n) out[i * 16 + n] = made[n];
}
