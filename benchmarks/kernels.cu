// benchmarks/kernels.cu - other ways to write the shipped kernels, the plain one of each first.
// Compiled by bench_kernels.py and never installed; what wins there is what csrc/kernels has.
#include <cstddef>
#include <cstdint>

#include "benchmarks/variants/convolve.cuh"
#include "benchmarks/variants/mandelbrot.cuh"
#include "benchmarks/variants/saxpy.cuh"
#include "csrc/kernels/mandelbrot.cu"

// The shipped kernel without its shortcut: orbits that never leave are followed to the end.
extern "C" __global__ void mandelbrot_full(const float* lattice, float* graph, int iterations,
                                           float bound, int size) {
    picture<false>(lattice, graph, iterations, bound, size);
}
