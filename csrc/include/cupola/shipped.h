/* cupola/shipped.h - the kernels that come with cupola; part of the C ABI. */
#ifndef CUPOLA_SHIPPED_H
#define CUPOLA_SHIPPED_H

#include "cupola/module.h"
#include "cupola/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The module of the shipped kernels, loaded at a device's first call; a new reference. */
CUPOLA_API int cupola_module_shipped(int device, cupola_module** out);
/* Its image: a packed fatbin, which cupola_module_load takes, and a driver does not. */
CUPOLA_API void cupola_shipped_image(const void** image, size_t* size);

/* These take and fill host memory, and return when the work is done. */

/* graph[row * n + column] = 1 where the orbit of lattice[column] + i lattice[n - 1 - row] stays
 * within `bound` for `iterations` steps, else 0. */
CUPOLA_API int cupola_mandelbrot(const float* lattice, float* graph, int iterations, float bound,
                                 int n);
CUPOLA_API int cupola_saxpy(float a, const float* x, const float* y, float* out, size_t n);
enum { CUPOLA_BORDER_ZERO = 0, CUPOLA_BORDER_CLAMP = 1 };
/* 2-D correlation of a (height, width, channels) image with an odd-sized filter. */
CUPOLA_API int cupola_convolve(const float* image, const float* filter, float* out, int height,
                               int width, int channels, int filter_height, int filter_width,
                               int border);
/* Prints "Hello World From GPU!" once for each thread. */
CUPOLA_API int cupola_hello(unsigned blocks, unsigned threads);

/* The same on device addresses, queued on the stream. */
CUPOLA_API int cupola_mandelbrot_async(uint64_t lattice, uint64_t graph, int iterations,
                                       float bound, int n, cupola_stream* stream);
CUPOLA_API int cupola_saxpy_async(float a, uint64_t x, uint64_t y, uint64_t out, size_t n,
                                  cupola_stream* stream);
CUPOLA_API int cupola_convolve_async(uint64_t image, uint64_t filter, uint64_t out, int height,
                                     int width, int channels, int filter_height, int filter_width,
                                     int border, cupola_stream* stream);

#ifdef __cplusplus
}
#endif

#endif /* CUPOLA_SHIPPED_H */
