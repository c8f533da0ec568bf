// A kernel of the corpus, for f32 and for f64. Thread i of n has the inputs in[k * n + i] for k
// below 16, and writes its results to out[k * n + i].
#pragma once

#define KERNEL(name)                                                                           \
    template <class T>                                                                         \
    __device__ __forceinline__ void name(const T* __restrict__ in, T* __restrict__ out, int n, \
                                         int i);                                               \
    extern "C" __global__ void name##_f32(const float* in, float* out, int n) {                \
        const int i = blockIdx.x * blockDim.x + threadIdx.x;                                   \
        if (i < n) name<float>(in, out, n, i);                                                 \
    }                                                                                          \
    extern "C" __global__ void name##_f64(const double* in, double* out, int n) {              \
        const int i = blockIdx.x * blockDim.x + threadIdx.x;                                   \
        if (i < n) name<double>(in, out, n, i);                                                \
    }                                                                                          \
    template <class T>                                                                         \
    __device__ __forceinline__ void name(const T* __restrict__ in, T* __restrict__ out, int n, \
                                         int i)

#define IN(k) in[(k)*n + i]
#define OUT(k) out[(k)*n + i]
