// benchmarks/variants/saxpy.cuh - out = a x + y: one element a thread, and vectors of 16 bytes.
#pragma once

#include "csrc/kernels/threads.cuh"

namespace axpy {

__device__ inline float one(float a, float x, float y) { return __fadd_rn(__fmul_rn(a, x), y); }

__device__ inline float4 four(float a, float4 x, float4 y) {
    return make_float4(one(a, x.x, y.x), one(a, x.y, y.y), one(a, x.z, y.z), one(a, x.w, y.w));
}

__device__ inline std::uintptr_t misalignment(const float* p) {
    return reinterpret_cast<std::uintptr_t>(p) % sizeof(float4);
}

// How the elements split: a head before the first of 16 aligned bytes, vectors, and a tail. Arrays
// that lie differently towards 16 bytes are all head.
struct Parts {
    std::size_t head, fours, n;

    __device__ Parts(const float* x, const float* y, const float* out, std::size_t n) : n(n) {
        const std::uintptr_t off = misalignment(out);
        head = n;
        if (misalignment(x) == off && misalignment(y) == off) {
            head = (sizeof(float4) - off) % sizeof(float4) / sizeof(float);
            head = head < n ? head : n;
        }
        fours = (n - head) / 4;
    }

    __device__ void rest(float a, const float* x, const float* y, float* out,
                         const Ranks& ranks) const {
        const std::size_t tail = head + fours * 4;
        const std::size_t singles = head + (n - tail);
        for (std::size_t i = ranks.first; i < singles; i += ranks.stride) {
            const std::size_t at = i < head ? i : tail + (i - head);
            __stcs(out + at, one(a, __ldcs(x + at), __ldcs(y + at)));
        }
    }
};

// A thread has `count` vectors that lie `step` apart, all loaded before the first is stored.
template <int count>
__device__ void vectors(float a, const float4* x, const float4* y, float4* out, std::size_t first,
                        std::size_t step, std::size_t fours) {
    if (first + (count - 1) * step < fours) {
        float4 p[count], q[count];
#pragma unroll
        for (int k = 0; k < count; ++k) {
            p[k] = __ldcs(x + first + k * step);
            q[k] = __ldcs(y + first + k * step);
        }
#pragma unroll
        for (int k = 0; k < count; ++k) __stcs(out + first + k * step, four(a, p[k], q[k]));
        return;
    }
    for (std::size_t i = first; i < fours; i += step)
        __stcs(out + i, four(a, __ldcs(x + i), __ldcs(y + i)));
}

// A block's vectors lie together: the first `threads` of them, the second, ...
template <int count>
__device__ void by_blocks(float a, const float* x, const float* y, float* out, std::size_t n) {
    const Parts parts(x, y, out, n);
    const auto* x4 = reinterpret_cast<const float4*>(x + parts.head);
    const auto* y4 = reinterpret_cast<const float4*>(y + parts.head);
    auto* out4 = reinterpret_cast<float4*>(out + parts.head);
    const unsigned threads = block_threads();
    const std::size_t block =
        (std::size_t{blockIdx.z} * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const std::size_t blocks = std::size_t{gridDim.x} * gridDim.y * gridDim.z;
    const std::size_t chunk = std::size_t{threads} * count;
    for (std::size_t start = block * chunk; start < parts.fours; start += blocks * chunk) {
        const std::size_t end = start + chunk < parts.fours ? start + chunk : parts.fours;
        vectors<count>(a, x4, y4, out4, start + block_thread(), threads, end);
    }
    parts.rest(a, x, y, out, launch_ranks());
}

// A thread's vectors lie a whole launch apart.
template <int count>
__device__ void by_launch(float a, const float* x, const float* y, float* out, std::size_t n) {
    const Parts parts(x, y, out, n);
    const auto* x4 = reinterpret_cast<const float4*>(x + parts.head);
    const auto* y4 = reinterpret_cast<const float4*>(y + parts.head);
    auto* out4 = reinterpret_cast<float4*>(out + parts.head);
    const Ranks ranks = launch_ranks();
    const std::size_t chunk = ranks.stride * count;
    for (std::size_t start = 0; start < parts.fours; start += chunk) {
        const std::size_t end = start + chunk < parts.fours ? start + chunk : parts.fours;
        vectors<count>(a, x4, y4, out4, start + ranks.first, ranks.stride, end);
    }
    parts.rest(a, x, y, out, ranks);
}

}  // namespace axpy

extern "C" __global__ void saxpy_plain(float a, const float* x, const float* y, float* out,
                                       std::size_t n) {
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < n) out[i] = axpy::one(a, x[i], y[i]);
}

#define SAXPY(name, body)                                                                \
    extern "C" __global__ void name(float a, const float* x, const float* y, float* out, \
                                    std::size_t n) {                                     \
        body(a, x, y, out, n);                                                           \
    }

SAXPY(saxpy_blocks_1, axpy::by_blocks<1>)
SAXPY(saxpy_blocks_2, axpy::by_blocks<2>)
SAXPY(saxpy_blocks_4, axpy::by_blocks<4>)
SAXPY(saxpy_launch_4, axpy::by_launch<4>)
#undef SAXPY
