// csrc/runtime/abi/shipped.cpp - the functions of cupola/shipped.h.
#include "cupola/shipped.h"

#include "runtime/array/shipped_launch.hpp"
#include "runtime/context/device.hpp"
#include "runtime/driver/output.hpp"
#include "runtime/memory/memory.hpp"
#include "runtime/module/shipped.hpp"
#include "runtime/profile/profile.hpp"

using namespace cupola;

namespace {

// Device copies of host arrays, for the launchers that take host pointers.
struct Input {
    DeviceMemory memory;
    Input(const float* data, std::size_t count, Stream& stream)
        : memory(stream.context, count * sizeof(float), stream) {
        if (count)
            CUPOLA_CALL(stream.context.driver, cuMemcpyHtoDAsync, memory.address, data, memory.size,
                        stream.handle);
    }
};

void fetch(float* to, const DeviceMemory& from, Stream& stream) {
    if (from.size)
        CUPOLA_CALL(stream.context.driver, cuMemcpyDtoHAsync, to, from.address, from.size,
                    stream.handle);
    synchronize(stream);
}

}  // namespace

int cupola_module_shipped(int device, cupola_module** out) {
    return guard([&] {
        check_not_null(out, "out");
        *out = wrap(shipped_module(context(device)).detach());
    });
}

void cupola_shipped_image(const void** image, size_t* size) {
    if (image) *image = shipped_image().data();
    if (size) *size = shipped_image().size();
}

int cupola_mandelbrot_async(uint64_t lattice, uint64_t graph, int iterations, float bound, int n,
                            cupola_stream* stream) {
    return guard([&] { mandelbrot(lattice, graph, iterations, bound, n, stream_of(stream)); });
}

int cupola_mandelbrot(const float* lattice, float* graph, int iterations, float bound, int n) {
    const Output::Wait wait;
    return guard([&] {
        if (n > 0) check_not_null(lattice, "lattice"), check_not_null(graph, "graph");
        Stream& stream = stream_of(nullptr);
        ContextScope current(stream.context);
        const std::size_t side = n > 0 ? n : 0;
        Input device_lattice(lattice, side, stream);
        DeviceMemory device_graph(stream.context, side * side * sizeof(float), stream);
        mandelbrot(device_lattice.memory.address, device_graph.address, iterations, bound, n,
                   stream);
        fetch(graph, device_graph, stream);
    });
}

int cupola_saxpy_async(float a, uint64_t x, uint64_t y, uint64_t out, size_t n,
                       cupola_stream* stream) {
    return guard([&] { saxpy(a, x, y, out, n, stream_of(stream)); });
}

int cupola_saxpy(float a, const float* x, const float* y, float* out, size_t n) {
    const Output::Wait wait;
    return guard([&] {
        if (n) check_not_null(x, "x"), check_not_null(y, "y"), check_not_null(out, "out");
        Stream& stream = stream_of(nullptr);
        ContextScope current(stream.context);
        Input device_x(x, n, stream), device_y(y, n, stream);
        DeviceMemory device_out(stream.context, n * sizeof(float), stream);
        saxpy(a, device_x.memory.address, device_y.memory.address, device_out.address, n, stream);
        fetch(out, device_out, stream);
    });
}

int cupola_convolve_async(uint64_t image, uint64_t filter, uint64_t out, int height, int width,
                          int channels, int filter_height, int filter_width, int border,
                          cupola_stream* stream) {
    return guard([&] {
        Stream& s = stream_of(stream);
        const auto count =
            convolution_elements(height, width, channels, filter_height, filter_width, border);
        if (count == 0) return;
        convolve({image, filter, out, height, width, channels, filter_height, filter_width, border},
                 count, s);
    });
}

int cupola_convolve(const float* image, const float* filter, float* out, int height, int width,
                    int channels, int filter_height, int filter_width, int border) {
    const Output::Wait wait;
    return guard([&] {
        const auto count =
            convolution_elements(height, width, channels, filter_height, filter_width, border);
        if (count == 0) return;
        check_not_null(image, "image"), check_not_null(filter, "filter"),
            check_not_null(out, "out");
        Stream& stream = stream_of(nullptr);
        ContextScope current(stream.context);
        Input device_image(image, count, stream);
        Input device_filter(filter, std::size_t(filter_height) * filter_width, stream);
        DeviceMemory device_out(stream.context, count * sizeof(float), stream);
        convolve({device_image.memory.address, device_filter.memory.address, device_out.address,
                  height, width, channels, filter_height, filter_width, border},
                 count, stream);
        fetch(out, device_out, stream);
    });
}

int cupola_hello(unsigned blocks, unsigned threads) {
    const Output::Wait wait;
    return guard([&] {
        Stream& stream = stream_of(nullptr);
        ContextScope current(stream.context);
        hello(blocks, threads, stream);
        synchronize(stream);
    });
}
