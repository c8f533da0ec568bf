// benchmarks/variants/mandelbrot.cuh - bounded orbits: tested at each step, or as rarely as is
// still right, with and without shortcuts for points inside the set.
#pragma once

#include "csrc/kernels/threads.cuh"

namespace mandel {

// Each operation is rounded on its own: the definition (tests/test_shipped.py).
struct Orbit {
    float real = 0, imag = 0, real2 = 0, imag2 = 0;

    __device__ void set(float r, float i) {
        real = r;
        imag = i;
        real2 = __fmul_rn(r, r);
        imag2 = __fmul_rn(i, i);
    }

    __device__ float norm() const { return __fadd_rn(real2, imag2); }

    __device__ void step(float c_real, float c_imag) {
        const float i = __fadd_rn(__fmul_rn(__fadd_rn(real, real), imag), c_imag);
        set(__fadd_rn(__fsub_rn(real2, imag2), c_real), i);
    }

    // The same number in one operation less: twice a rounded product is exact, so that the fma
    // rounds once where the sum did. It is not the same where the product is subnormal and c_imag
    // tiny, nor where 2 real overflows: see `simple`.
    __device__ void quick_step(float c_real, float c_imag) {
        const float i = __fmaf_rn(2, __fmul_rn(real, imag), c_imag);
        set(__fadd_rn(__fsub_rn(real2, imag2), c_real), i);
    }
};

// Whether a test now and then is enough, and quick_step right. Where |c| < 2 - 2^-10 and the bound
// is at least 2, |z| > bound makes the next |z| larger by more than all roundings: |z^2 + c| >=
// |z|^2 - |c|. So an orbit that was out once is out at every later test; having overflowed, it is
// infinite or NaN for good.
__device__ inline bool simple(float c_imag, float c_norm, float bound) {
    return bound >= 4 && bound < INFINITY && c_norm <= 3.996f &&
           (fabsf(c_imag) >= 0x1p-90f || c_imag == 0);
}

__device__ inline bool tested(float c_real, float c_imag, int iterations, float bound) {
    constexpr int group = 8;
    Orbit z;
    int done = 0;
    for (; done <= iterations - group; done += group) {
        bool within = true;
#pragma unroll
        for (int i = 0; i < group; ++i) {
            z.step(c_real, c_imag);
            within &= z.norm() <= bound;
        }
        if (!within) return false;
    }
    for (; done < iterations; ++done) {
        z.step(c_real, c_imag);
        if (!(z.norm() <= bound)) return false;
    }
    return true;
}

// Whether a disk around z0 is mapped into itself by two steps, z0 to z1 to z2, so that the orbit
// never leaves it. A disk of radius r around z goes into one of radius 2|z| r + r^2 around z^2 + c.
// With k = 4 |z0| |z1| and C >= 2 |z1| + 4 |z0|^2 + 2, two steps leave k r + C r^2 at most, and
// r = (1 - k) / 2C holds it in if 4 C (|z2 - z0| + roundings) <= (1 - k)^2. Roots are spared by
// 2 |z1| <= 1 + |z1|^2 and k <= (1 + k^2) / 2. The roundings of two steps are below 2^-17 here.
__device__ inline bool trapped(const Orbit& z0, float norm1, const Orbit& z2) {
    const float norm0 = z0.norm();
    const float t = 0.5f - 8 * (norm0 * norm1);
    const float c = norm1 + 4 * norm0 + 3;
    const float dr = z2.real - z0.real, di = z2.imag - z0.imag;
    const float room = t * t - c * 0x1p-15f;
    return t > 0 && room > 0 && 16 * c * c * (dr * dr + di * di) <= room * room;
}

// The cardioid and the disk of period 2, less a margin.
__device__ inline bool known(float c_real, float c_imag) {
    const float i2 = c_imag * c_imag, x = c_real - 0.25f, q = x * x + i2;
    const float y = c_real + 1;
    return q * (q + x) < 0.2499f * i2 || y * y + i2 < 0.0624f;
}

enum : int { none = 0, period = 1, trap = 2, known_inside = 4 };

// Whether the orbit of c stays within the bound.
template <int shortcuts, int first, int group, int trap_every>
__device__ bool stays(float c_real, float c_imag, int iterations, float bound) {
    if (iterations <= 0) return true;
    Orbit z;
    z.set(c_real, c_imag);
    const float c_norm = z.norm();
    if (!(c_norm <= bound)) return false;
    if (!simple(c_imag, c_norm, bound)) return tested(c_real, c_imag, iterations, bound);
    if ((shortcuts & known_inside) && known(c_real, c_imag)) return true;
    int left = iterations - 1;
    if (left >= first) {
#pragma unroll
        for (int i = 0; i < first; ++i) z.quick_step(c_real, c_imag);
        if (!(z.norm() <= bound)) return false;
        left -= first;
    }
    // Brent's search: the orbit is compared with a value of its own that is renewed after 1, 2, 4,
    // ... groups. An orbit that comes to where it was has nothing new ahead.
    float old_real = z.real, old_imag = z.imag;
    int window = 1, age = 0, until = trap_every;
    for (; left >= group; left -= group) {
#pragma unroll
        for (int i = 0; i < group - 2; ++i) z.quick_step(c_real, c_imag);
        const Orbit before = z;
        z.quick_step(c_real, c_imag);
        const float between = z.norm();
        z.quick_step(c_real, c_imag);
        if (!(z.norm() <= bound)) return false;
        if ((shortcuts & trap) && --until == 0) {
            until = trap_every;
            if (trapped(before, between, z)) return true;
        }
        if (shortcuts & period) {
            if (z.real == old_real && z.imag == old_imag) return true;
            if (++age == window) {
                old_real = z.real;
                old_imag = z.imag;
                window *= 2;
                age = 0;
            }
        }
    }
    for (; left > 0; --left) z.quick_step(c_real, c_imag);
    return z.norm() <= bound;
}

// A warp has a piece of 32 x 4 points, by 8 x 4 at a time: lanes that lie together need alike many
// steps, and row and c_imag are found once for four points.
template <class Rule>
__device__ void pieces(const float* lattice, float* graph, int iterations, float bound, int size,
                       Rule rule) {
    if (size <= 0) return;
    const auto n = static_cast<unsigned>(size);
    const unsigned across = (n + 31) / 32, down = (n + 3) / 4;
    const std::size_t items = std::size_t{across} * down * 32;
    const Ranks ranks = launch_ranks();
    for (std::size_t item = ranks.first; item < items; item += ranks.stride) {
        const std::size_t piece = item / 32;
        const unsigned lane = item % 32;
        unsigned row, column;
        if (piece <= 0xffffffffu) {  // 32 bits divide several times faster
            row = static_cast<unsigned>(piece) / across;
            column = static_cast<unsigned>(piece) - row * across;
        } else {
            row = static_cast<unsigned>(piece / across);
            column = static_cast<unsigned>(piece - std::size_t{row} * across);
        }
        row = row * 4 + lane / 8;
        column = column * 32 + lane % 8;
        if (row >= n) continue;
        const float c_imag = lattice[n - 1 - row];
        float* out = graph + std::size_t{row} * n;
#pragma unroll 1
        for (int k = 0; k < 4; ++k, column += 8)
            if (column < n)
                out[column] = rule(lattice[column], c_imag, iterations, bound) ? 1.0f : 0.0f;
    }
}

// Whether the orbit of c stays within the bound, for what is simple and has at least 12 steps. Most
// of what leaves has left after 4 or 12.
template <int shortcuts, int first, int group, int trap_every>
__device__ bool stays_simple(float c_real, float c_imag, int iterations, float bound) {
    Orbit z;
    z.set(c_real, c_imag);
#pragma unroll
    for (int i = 0; i < first; ++i) z.quick_step(c_real, c_imag);
    if (!(z.norm() <= bound)) return false;
    int until = 1;
    float old_real = z.real, old_imag = z.imag;
    int window = 1, age = 0;
    int left = iterations - 1 - first;
    do {
#pragma unroll
        for (int i = 0; i < group - 2; ++i) z.quick_step(c_real, c_imag);
        const Orbit before = z;
        z.quick_step(c_real, c_imag);
        const float between = z.norm();
        z.quick_step(c_real, c_imag);
        if (!(z.norm() <= bound)) return false;
        if ((shortcuts & trap) && --until == 0) {
            until = trap_every;
            if (trapped(before, between, z)) return true;
            if (shortcuts & period) {
                if (z.real == old_real && z.imag == old_imag) return true;
                if (++age == window) {
                    old_real = z.real;
                    old_imag = z.imag;
                    window *= 2;
                    age = 0;
                }
            }
        }
        left -= group;
    } while (left >= group);
    for (; left > 0; --left) z.quick_step(c_real, c_imag);
    return z.norm() <= bound;
}

// As `pieces`, but a thread has 4 columns and as many rows, 4 apart, as make up for few threads, 8
// at most; and what is the same for a whole row is found once.
template <int shortcuts, int first, int group, int trap_every>
__device__ void tall_pieces(const float* lattice, float* graph, int iterations, float bound,
                            int size) {
    if (size <= 0) return;
    const auto n = static_cast<unsigned>(size);
    const Ranks ranks = launch_ranks();
    const unsigned across = (n + 31) / 32;
    const std::size_t share = std::size_t{across} * ((n + 3) / 4) * 32 / ranks.stride;
    const unsigned depth = share < 1 ? 1 : share > 8 ? 8 : static_cast<unsigned>(share);
    const unsigned down = (n + 4 * depth - 1) / (4 * depth);
    const std::size_t items = std::size_t{across} * down * 32;
    const bool usual = bound >= 4 && bound < INFINITY && iterations >= 1 + first + group;
    for (std::size_t item = ranks.first; item < items; item += ranks.stride) {
        const std::size_t piece = item / 32;
        const unsigned lane = item % 32;
        const bool few = piece <= 0xffffffffu;  // 32 bits divide several times faster
        const unsigned below =
            few ? static_cast<unsigned>(piece) / across : static_cast<unsigned>(piece / across);
        const unsigned left = (static_cast<unsigned>(piece) - below * across) * 32 + lane % 8;
        unsigned row = below * 4 * depth + lane / 8;
        for (unsigned d = 0; d < depth && row < n; ++d, row += 4) {
            const float c_imag = lattice[n - 1 - row];
            const float imag2 = __fmul_rn(c_imag, c_imag);
            const bool plain = usual && (fabsf(c_imag) >= 0x1p-90f || c_imag == 0);
            float* out = graph + std::size_t{row} * n;
#pragma unroll 1
            for (unsigned column = left; column < n && column < left + 32; column += 8) {
                const float c_real = lattice[column];
                bool in;
                const float norm = __fadd_rn(__fmul_rn(c_real, c_real), imag2);
                if (plain && norm <= 3.996f)
                    in = stays_simple<shortcuts, first, group, trap_every>(c_real, c_imag,
                                                                           iterations, bound);
                else if (iterations > 0 && !(norm <= bound))
                    in = false;
                else
                    in = tested(c_real, c_imag, iterations, bound);
                out[column] = in ? 1.0f : 0.0f;
            }
        }
    }
}

}  // namespace mandel

extern "C" __global__ void mandelbrot_plain(const float* lattice, float* graph, int iterations,
                                            float bound, int size) {
    const std::size_t point = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    const std::size_t n = size;
    if (point >= n * n) return;
    const std::size_t row = point / n, column = point - row * n;
    const float c_real = lattice[column], c_imag = lattice[n - 1 - row];
    mandel::Orbit z;
    float in = 1;
    for (int i = 0; i < iterations; ++i) {
        z.step(c_real, c_imag);
        if (!(z.norm() <= bound)) {
            in = 0;
            break;
        }
    }
    graph[point] = in;
}

#define MANDELBROT(name, ...)                                                                     \
    extern "C" __global__ void name(const float* lattice, float* graph, int iterations,           \
                                    float bound, int size) {                                      \
        mandel::pieces(lattice, graph, iterations, bound, size,                                   \
                       [](float r, float i, int n, float b) { return __VA_ARGS__(r, i, n, b); }); \
    }

MANDELBROT(mandelbrot_tested, mandel::tested)
MANDELBROT(mandelbrot_sampled, mandel::stays<mandel::none, 3, 8, 1>)
MANDELBROT(mandelbrot_period, mandel::stays<mandel::period, 3, 8, 1>)
MANDELBROT(mandelbrot_trap_1, mandel::stays<mandel::period | mandel::trap, 3, 8, 1>)
MANDELBROT(mandelbrot_trap_3, mandel::stays<mandel::period | mandel::trap, 3, 8, 3>)
MANDELBROT(mandelbrot_trap_alone, mandel::stays<mandel::trap, 3, 8, 3>)
MANDELBROT(mandelbrot_known, mandel::stays<mandel::known_inside, 3, 8, 3>)
MANDELBROT(mandelbrot_known_period, mandel::stays<mandel::known_inside | mandel::period, 3, 8, 3>)
#undef MANDELBROT

#define TALL(name, ...)                                                                 \
    extern "C" __global__ void name(const float* lattice, float* graph, int iterations, \
                                    float bound, int size) {                            \
        mandel::tall_pieces<__VA_ARGS__>(lattice, graph, iterations, bound, size);      \
    }

TALL(mandelbrot_tall_sampled, mandel::none, 3, 8, 1)
TALL(mandelbrot_tall_trap_1, mandel::trap, 3, 8, 1)
TALL(mandelbrot_tall_trap_2, mandel::trap, 3, 8, 2)
TALL(mandelbrot_tall_trap_3, mandel::trap, 3, 8, 3)
TALL(mandelbrot_tall_trap_2_5, mandel::trap, 5, 6, 2)
TALL(mandelbrot_tall_both, mandel::trap | mandel::period, 3, 8, 2)
#undef TALL
