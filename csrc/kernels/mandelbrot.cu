// csrc/kernels/mandelbrot.cu - which points of a lattice stay bounded under z -> z^2 + c.
#include "threads.cuh"

namespace {

constexpr int unrolled = 8;

// Each operation is rounded on its own, in this order, so that a GPU, the CPU device and NumPy's
// float32 give the same bits; contraction to fma would not.
struct Orbit {
    float real = 0, imag = 0, real2 = 0, imag2 = 0;

    __device__ float step(float c_real, float c_imag) {
        imag = __fadd_rn(__fmul_rn(__fadd_rn(real, real), imag), c_imag);
        real = __fadd_rn(__fsub_rn(real2, imag2), c_real);
        real2 = __fmul_rn(real, real);
        imag2 = __fmul_rn(imag, imag);
        return __fadd_rn(real2, imag2);
    }
};

// Whether |z|^2 <= bound for each of `iterations` values of z after the first, which is 0. A bound
// below 4 may be passed and kept again later, so every value is looked at; but only one step in
// eight branches. An orbit that has become NaN does not stay within any bound.
__device__ bool stays(float c_real, float c_imag, int iterations, float bound) {
    Orbit orbit;
    int done = 0;
    for (; done <= iterations - unrolled; done += unrolled) {
        bool within = true;
#pragma unroll
        for (int i = 0; i < unrolled; ++i) within &= orbit.step(c_real, c_imag) <= bound;
        if (!within) return false;
    }
    for (; done < iterations; ++done)
        if (!(orbit.step(c_real, c_imag) <= bound)) return false;
    return true;
}

}  // namespace

// graph[row * n + column] = 1 where the orbit of c = lattice[column] + i lattice[n - 1 - row] stays
// within the bound, else 0: row 0 is the top of the picture where the lattice ascends. Any launch
// (threads.cuh); threads that are neighbours in x take neighbouring columns.
extern "C" __global__ void mandelbrot_ker(const float* lattice, float* graph, int max_iters,
                                          float upper_bound_squared, int lattice_size) {
    if (lattice_size <= 0) return;
    const auto n = static_cast<unsigned>(lattice_size);
    const std::size_t points = std::size_t{n} * n;
    const Ranks ranks = launch_ranks();
    for (std::size_t point = ranks.first; point < points; point += ranks.stride) {
        const std::size_t row = point / n;
        const std::size_t column = point - row * n;
        const bool in =
            stays(lattice[column], lattice[n - 1 - row], max_iters, upper_bound_squared);
        graph[point] = in ? 1.0f : 0.0f;
    }
}
