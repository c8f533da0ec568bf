// benchmarks/kernels.cu - other ways to write the shipped kernels, the plain one of each first.
// Compiled by bench_kernels.py and never installed; what wins there is what csrc/kernels has.
#include <cstddef>
#include <cstdint>

#include "benchmarks/variants/convolve.cuh"
#include "benchmarks/variants/mandelbrot.cuh"
#include "benchmarks/variants/saxpy.cuh"
