// csrc/kernels/algorithms/random_numbers.cuh - numbers of standard distributions from random bits.
#pragma once

#include "random_engines.cuh"

namespace cupola::random {

// Numbers in [0, 1), as NumPy makes them: all multiples of 2^-24 or 2^-53. They are exact, so equal
// on all devices.
__device__ inline float unit(u32 bits) { return (bits >> 8) * 0x1p-24f; }
__device__ inline double unit(u64 bits) { return (bits >> 11) * 0x1p-53; }
// In (0, 1]; next to 0 a float has the distance 2^-32.
__device__ inline float positive_unit(u32 bits) { return fmaf(bits, 0x1p-32f, 0x1p-33f); }
__device__ inline double positive_unit(u64 bits) { return ((bits >> 11) + 1) * 0x1p-53; }
// In (0, 1), multiples of 2^-53.
__device__ inline double open_unit(u64 bits) { return ((bits >> 12) + 0.5) * 0x1p-52; }

// Box and Muller: two independent numbers of the normal distribution.
__device__ inline void normal_pair(u32 first, u32 second, float& one, float& other) {
    const float radius = sqrtf(-2 * logf(positive_unit(first)));
    float sine, cosine;
    sincospif(second * 0x1p-31f, &sine, &cosine);
    one = radius * cosine;
    other = radius * sine;
}
__device__ inline void normal_pair(u64 first, u64 second, double& one, double& other) {
    const double radius = sqrt(-2 * log(positive_unit(first)));
    double sine, cosine;
    sincospi(2 * unit(second), &sine, &cosine);
    one = radius * cosine;
    other = radius * sine;
}

// Products and sums that no compiler fuses.
__device__ inline float scaled(float x, float factor, float sum) {
    return __fadd_rn(__fmul_rn(x, factor), sum);
}
__device__ inline double scaled(double x, double factor, double sum) {
    return __dadd_rn(__dmul_rn(x, factor), sum);
}

// Numbers of double precision, one by one.
template <class Engine>
struct Numbers {
    Engine& engine;
    Words words = {};
    int used = 2;
    double spare = 0;
    bool has_spare = false;

    // Not inlined: some distributions have many calls, and each would contain the whole generator.
    __device__ __noinline__ u64 bits() {
        if (used == 2) {
            words = engine.next();
            used = 0;
        }
        return words.pair(used++);
    }
    __device__ double uniform() { return unit(bits()); }
    __device__ double positive() { return positive_unit(bits()); }
    __device__ double open() { return open_unit(bits()); }
    __device__ double exponential() { return -log(positive()); }
    __device__ __noinline__ double normal() {
        has_spare = !has_spare;
        if (!has_spare) return spare;
        double made;
        const u64 first = bits(), second = bits();
        normal_pair(first, second, made, spare);
        return made;
    }
};

}  // namespace cupola::random
