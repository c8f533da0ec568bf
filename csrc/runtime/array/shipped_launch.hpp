// csrc/runtime/array/shipped_launch.hpp - launches shipped kernels on device addresses.
#pragma once

#include "cupola/shipped.h"
#include "runtime/context/stream.hpp"

namespace cupola {

void mandelbrot(std::uint64_t lattice, std::uint64_t graph, int iterations, float bound, int n,
                Stream& stream);
void saxpy(float a, std::uint64_t x, std::uint64_t y, std::uint64_t out, std::size_t n,
           Stream& stream);

struct Convolution {
    std::uint64_t image, filter, out;
    int height, width, channels, filter_height, filter_width, border;
};
// The number of elements of the image; throws where a size is invalid.
std::uint64_t convolution_elements(int height, int width, int channels, int filter_height,
                                   int filter_width, int border);
void convolve(const Convolution& c, std::uint64_t elements, Stream& stream);

void hello(unsigned blocks, unsigned threads, Stream& stream);

}  // namespace cupola
