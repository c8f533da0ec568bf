// Numbers of 16 bits, one or two in a register. These need compute_90.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernel.cuh"

// Kernels of four types. A pair has the elements of two threads, so it is one row of bits.
#define SHORT_KERNEL(name)                                                                     \
    template <class T>                                                                         \
    __device__ __forceinline__ void name(const T* __restrict__ in, T* __restrict__ out, int n, \
                                         int i);                                               \
    SHORT_ENTRY(name, f16, __half)                                                             \
    SHORT_ENTRY(name, bf16, __nv_bfloat16)                                                     \
    SHORT_ENTRY(name, f16x2, __half2)                                                          \
    SHORT_ENTRY(name, bf16x2, __nv_bfloat162)                                                  \
    template <class T>                                                                         \
    __device__ __forceinline__ void name(const T* __restrict__ in, T* __restrict__ out, int n, \
                                         int i)

#define SHORT_ENTRY(name, suffix, type)                                            \
    extern "C" __global__ void name##_##suffix(const type* in, type* out, int n) { \
        const int i = blockIdx.x * blockDim.x + threadIdx.x;                       \
        if (i < n) name<type>(in, out, n, i);                                      \
    }

template <class T>
__device__ __forceinline__ T number(float x);
template <>
__device__ __forceinline__ __half number<__half>(float x) {
    return __float2half(x);
}
template <>
__device__ __forceinline__ __nv_bfloat16 number<__nv_bfloat16>(float x) {
    return __float2bfloat16(x);
}
template <>
__device__ __forceinline__ __half2 number<__half2>(float x) {
    return __float2half2_rn(x);
}
template <>
__device__ __forceinline__ __nv_bfloat162 number<__nv_bfloat162>(float x) {
    return __float2bfloat162_rn(x);
}

SHORT_KERNEL(short_saxpy) { OUT(0) = number<T>(2.5f) * IN(0) + IN(1); }
SHORT_KERNEL(short_dot) {
    T sum = IN(0) * IN(8);
    for (int k = 1; k < 8; ++k) sum += IN(k) * IN(k + 8);
    OUT(0) = sum;
}
SHORT_KERNEL(short_horner) {
    const T x = IN(0);
    OUT(0) = ((IN(1) * x + IN(2)) * x + IN(3)) * x + IN(4);
}
SHORT_KERNEL(short_complex) {
    OUT(0) = IN(0) * IN(2) - IN(1) * IN(3);
    OUT(1) = IN(0) * IN(3) + IN(1) * IN(2);
}
SHORT_KERNEL(short_blend) {
    const T a = IN(2);
    OUT(0) = a * IN(0) + (number<T>(1.0f) - a) * IN(1);
    OUT(1) = IN(0) - a * (IN(0) - IN(1));
}
SHORT_KERNEL(short_heat) {
    const T l = in[(i + n - 1) % n], m = in[i], r = in[(i + 1) % n];
    OUT(0) = m + number<T>(0.25f) * (l - number<T>(2.0f) * m + r);
}
SHORT_KERNEL(short_leapfrog) {
    T x = IN(0), v = IN(1);
    for (int k = 0; k < 6; ++k) {
        v = v - number<T>(0.0625f) * x;
        x = x + number<T>(0.0625f) * v;
    }
    OUT(0) = x;
    OUT(1) = v;
}
SHORT_KERNEL(short_shared_product) {
    const T p = IN(0) * IN(1), q = IN(2) * IN(3);
    OUT(0) = p + IN(4);
    OUT(1) = p - q;
    OUT(2) = IN(5) - p;
    OUT(3) = -q + IN(6);
}
SHORT_KERNEL(short_stored_product) {
    const T p = IN(0) * IN(1);
    OUT(0) = p;
    OUT(1) = p + IN(2);
}
SHORT_KERNEL(short_loop) {
    T sum = IN(0);
    const int count = 2 + i % 11;
    for (int k = 0; k < count; ++k) sum = sum * number<T>(0.5f) + IN(1 + k % 8) * IN(9);
    OUT(0) = sum;
}

// Kernels of both precisions.
extern "C" __global__ void mixed_dot_f32(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double sum = 0;
    float rough = 0;
    for (int k = 0; k < 6; ++k) {
        sum += double(IN(k)) * double(IN(k + 6));
        rough += IN(k) * IN(k + 6);
    }
    OUT(0) = float(sum);
    OUT(1) = rough - float(sum) * 0.5f;
}
extern "C" __global__ void half_weights_f32(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k < 8; ++k) {
        const __half w = __float2half(IN(k)), a = __float2half(IN(k + 8));
        sum += __half2float(w * a + w) * 0.25f;
    }
    OUT(0) = sum;
}
