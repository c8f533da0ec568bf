// csrc/runtime/array/shipped_launch.cpp - checks arguments of the shipped kernels and launches
// them.
#include "runtime/array/shipped_launch.hpp"

#include <cstring>
#include <limits>

#include "runtime/launch/launch.hpp"
#include "runtime/module/shipped.hpp"

namespace cupola {
namespace {

constexpr unsigned block_threads =
    256;  // a block: full occupancy on every architecture shipped for
constexpr std::uint64_t enough = 1 << 18;  // threads, to fill the largest devices

// The kernels loop over their elements, so any grid is correct.
cupola_dimensions cover(const Context& context, std::uint64_t elements,
                        unsigned block = block_threads) {
    const std::uint64_t blocks = (elements + block - 1) / block;
    const std::uint64_t most = context.max_grid[0];
    return {{static_cast<std::uint32_t>(blocks < most ? blocks : most), 1, 1}, {block, 1, 1}, 0};
}

void put(const Kernel& kernel, char* buffer, std::size_t) { (void)kernel, (void)buffer; }

template <class T, class... Rest>
void put(const Kernel& kernel, char* buffer, std::size_t index, T value, Rest... rest) {
    const Parameter& p = kernel.parameters().at(index);
    if (p.size != sizeof value)
        fail(CUPOLA_ERROR_IMAGE, kernel.name +
                                     ": its parameters in the shipped image differ from those "
                                     "that its launcher expects: the build is inconsistent");
    std::memcpy(buffer + p.offset, &value, sizeof value);
    put(kernel, buffer, index + 1, rest...);
}

template <class... Args>
void launch(const char* name, cupola_dimensions dimensions, Stream& stream, Args... args) {
    Kernel& kernel = shipped_kernel(stream.context, name);
    char buffer[256];
    if (kernel.parameters().size() != sizeof...(args) || kernel.parameter_bytes > sizeof buffer)
        fail(CUPOLA_ERROR_IMAGE, std::string(name) + ": unexpected parameters");
    put(kernel, buffer, 0, args...);
    kernel.check_launch(dimensions, nullptr);
    kernel.launch(dimensions, nullptr, buffer, stream);
}

}  // namespace

void mandelbrot(std::uint64_t lattice, std::uint64_t graph, int iterations, float bound, int n,
                Stream& stream) {
    if (n < 0)
        fail(CUPOLA_ERROR_VALUE,
             "mandelbrot: a lattice can't have " + std::to_string(n) + " points");
    if (iterations < 0)
        fail(CUPOLA_ERROR_VALUE,
             "mandelbrot: iterations is negative: " + std::to_string(iterations));
    if (!(bound >= 0))
        fail(CUPOLA_ERROR_VALUE, "mandelbrot: the bound must be a number, 0 or larger");
    if (n == 0) return;
    // Points differ in cost, and small parts balance best, so a thread has only 4 points. It has 8
    // if the threads then still fill the largest devices. cupola/tuning/shipped.py has the same
    // rule.
    const std::uint64_t across = (std::uint64_t(n) + 31) / 32, down = (std::uint64_t(n) + 3) / 4;
    const std::uint64_t rows = across * down * 32 / 2 < enough ? 1 : 2;
    launch("mandelbrot_ker", cover(stream.context, across * ((down + rows - 1) / rows) * 32, 128),
           stream, lattice, graph, iterations, bound * bound, n);
}

void saxpy(float a, std::uint64_t x, std::uint64_t y, std::uint64_t out, std::size_t n,
           Stream& stream) {
    if (n == 0) return;
    launch("saxpy", cover(stream.context, (n + 3) / 4, 512), stream, a, x, y, out,
           std::uint64_t(n));
}

std::uint64_t convolution_elements(int height, int width, int channels, int filter_height,
                                   int filter_width, int border) {
    if (height < 0 || width < 0 || channels < 0)
        fail(CUPOLA_ERROR_VALUE, "convolve: the image has a negative size");
    if (filter_height < 1 || filter_width < 1 || filter_height % 2 == 0 || filter_width % 2 == 0)
        fail(CUPOLA_ERROR_VALUE, "convolve: the filter is " + std::to_string(filter_height) +
                                     " x " + std::to_string(filter_width) +
                                     "; its sizes must be odd");
    if (border != CUPOLA_BORDER_ZERO && border != CUPOLA_BORDER_CLAMP)
        fail(CUPOLA_ERROR_VALUE, "convolve: unknown border " + std::to_string(border));
    const auto pixels = static_cast<unsigned __int128>(height) * width;
    const unsigned __int128 all = pixels * channels;
    if (all > std::numeric_limits<std::uint64_t>::max() / sizeof(float))
        fail(CUPOLA_ERROR_VALUE, "convolve: the image is too large");
    return static_cast<std::uint64_t>(all);
}

void convolve(const Convolution& c, std::uint64_t results, Stream& stream) {
    const int size = c.filter_height, clamps = c.border == CUPOLA_BORDER_CLAMP;
    if (size != c.filter_width || size < 3 || size > 7) {
        launch("convolve", cover(stream.context, results), stream, c.image, c.filter, c.out,
               c.height, c.width, c.channels, c.filter_height, c.filter_width, clamps);
        return;
    }
    // The kernel's strips are as low as there are threads for. Higher ones load less, but enough of
    // them must remain to fill the device. cupola/tuning/shipped.py has the same rule.
    const std::uint64_t across =
        c.channels == 1 ? (std::uint64_t(c.width) + 3) / 4 : std::uint64_t(c.width) * c.channels;
    const std::uint64_t wanted = across * c.height / enough;
    const int rows = static_cast<int>(wanted < 4 ? 4 : wanted > 31 ? 31 : wanted);
    const std::uint64_t strips = across * ((c.height - 1) / rows + 1);
    const std::string name = "convolve_" + std::to_string(size);
    launch(name.c_str(), cover(stream.context, strips, 128), stream, c.image, c.filter, c.out,
           c.height, c.width, c.channels, clamps);
}

void hello(unsigned blocks, unsigned threads, Stream& stream) {
    launch("hello", {{blocks, 1, 1}, {threads, 1, 1}, 0}, stream);
}

}  // namespace cupola
