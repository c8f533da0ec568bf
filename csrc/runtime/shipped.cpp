// csrc/runtime/shipped.cpp - the kernels that come with the library, and their host launchers.
#include <cstring>
#include <limits>
#include <map>

#include "runtime/kernel.hpp"
#include "runtime/memory.hpp"

// The fatbin, as the build made it.
__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    "cupola_shipped_begin:\n"
    ".incbin \"" CUPOLA_KERNELS_FATBIN
    "\"\n"
    "cupola_shipped_end:\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" {
__attribute__((visibility("hidden"))) extern const char cupola_shipped_begin[];
__attribute__((visibility("hidden"))) extern const char cupola_shipped_end[];
}

namespace cupola {
namespace {

// The module and its kernels, once a device.
class Shipped : public Object {
  public:
    explicit Shipped(Context& context)
        : module(make<Module>(context, cupola_shipped_begin,
                              std::size_t(cupola_shipped_end - cupola_shipped_begin))) {}

    Kernel& kernel(const std::string& name) {
        std::lock_guard<std::mutex> lock(mutex_);
        Ref<Kernel>& kernel = kernels_[name];
        if (!kernel) kernel = make<Kernel>(module, name);
        return *kernel;
    }

    Ref<Module> module;

  private:
    std::mutex mutex_;
    std::map<std::string, Ref<Kernel>> kernels_;
};

Shipped& shipped(Context& context) {
    std::lock_guard<std::mutex> lock(context.mutex);
    if (!context.shipped) context.shipped = Ref<Object>::adopt(new Shipped(context));
    return static_cast<Shipped&>(*context.shipped);
}

constexpr unsigned block_threads =
    256;  // a block: full occupancy on every architecture shipped for
constexpr std::uint64_t enough = 1 << 18;  // threads, to fill the largest devices

// The kernels take any launch, so a grid that cannot cover all elements is no error.
cupola_dimensions cover(const Context& context, std::uint64_t elements,
                        unsigned block = block_threads) {
    const std::uint64_t blocks = (elements + block - 1) / block;
    const std::uint64_t most = context.max_grid[0];
    return {{static_cast<std::uint32_t>(blocks < most ? blocks : most), 1, 1}, {block, 1, 1}, 0};
}

void put(const Kernel& kernel, char* buffer, std::size_t) { (void)kernel, (void)buffer; }

template <class T, class... Rest>
void put(const Kernel& kernel, char* buffer, std::size_t index, T value, Rest... rest) {
    const Parameter& p = kernel.parameters.at(index);
    if (p.size != sizeof value)
        fail(CUPOLA_ERROR_IMAGE, kernel.name +
                                     ": the shipped image's parameters are not those "
                                     "which its launcher was written for");
    std::memcpy(buffer + p.offset, &value, sizeof value);
    put(kernel, buffer, index + 1, rest...);
}

template <class... Args>
void launch(const char* name, cupola_dimensions dimensions, Stream& stream, Args... args) {
    Kernel& kernel = shipped(stream.context).kernel(name);
    char buffer[256];
    if (kernel.parameters.size() != sizeof...(args) || kernel.parameter_bytes > sizeof buffer)
        fail(CUPOLA_ERROR_IMAGE, std::string(name) + ": unexpected parameters");
    put(kernel, buffer, 0, args...);
    kernel.check_launch(dimensions, nullptr);
    kernel.launch(dimensions, nullptr, buffer, stream);
}

void mandelbrot(std::uint64_t lattice, std::uint64_t graph, int iterations, float bound, int n,
                Stream& stream) {
    if (n < 0)
        fail(CUPOLA_ERROR_VALUE,
             "mandelbrot: a lattice can't have " + std::to_string(n) + " points");
    if (iterations < 0)
        fail(CUPOLA_ERROR_VALUE,
             "mandelbrot: iterations is negative: " + std::to_string(iterations));
    if (!(bound >= 0)) fail(CUPOLA_ERROR_VALUE, "mandelbrot: the bound is not a number from 0 on");
    if (n == 0) return;
    // Work that differs from piece to piece spreads best when it is in small parts: a thread has 4
    // points, or 8 where that leaves threads enough for the largest devices.
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

std::uint64_t results(int height, int width, int channels, int filter_height, int filter_width,
                      int border) {
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

struct Convolution {
    std::uint64_t image, filter, out;
    int height, width, channels, filter_height, filter_width, border;
};

void convolve(const Convolution& c, std::uint64_t results, Stream& stream) {
    const int size = c.filter_height;
    if (size != c.filter_width || size < 3 || size > 7) {
        launch("convolve", cover(stream.context, results), stream, c.image, c.filter, c.out,
               c.height, c.width, c.channels, c.filter_height, c.filter_width, c.border);
        return;
    }
    // Long strips load less, but there must be enough of them.
    const std::uint64_t across =
        c.channels == 1 ? (std::uint64_t(c.width) + 3) / 4 : std::uint64_t(c.width) * c.channels;
    const std::uint64_t wanted = across * c.height / enough;
    const int rows = static_cast<int>(wanted < 4 ? 4 : wanted > 31 ? 31 : wanted);
    const std::uint64_t strips = across * ((c.height - 1) / rows + 1);
    const std::string name = "convolve_" + std::to_string(size);
    launch(name.c_str(), cover(stream.context, strips, 128), stream, c.image, c.filter, c.out,
           c.height, c.width, c.channels, c.border, rows);
}

// Device copies of host arrays, for the launchers that take host pointers.
struct Input {
    DeviceMemory memory;
    Input(const float* data, std::size_t count, Stream& stream)
        : memory(stream.context, count * sizeof(float), stream) {
        if (count) CUPOLA_CALL(cuMemcpyHtoDAsync, memory.address, data, memory.size, stream.handle);
    }
};

void fetch(float* to, const DeviceMemory& from, Stream& stream) {
    if (from.size) CUPOLA_CALL(cuMemcpyDtoHAsync, to, from.address, from.size, stream.handle);
    stream.synchronize();
}

}  // namespace

Ref<Module> shipped_module(Context& context) { return shipped(context).module; }

}  // namespace cupola

using namespace cupola;

int cupola_module_shipped(int device, cupola_module** out) {
    return guard([&] {
        required(out, "out");
        *out = wrap(shipped_module(context(device)).detach());
    });
}

void cupola_shipped_image(const void** image, size_t* size) {
    if (image) *image = cupola_shipped_begin;
    if (size) *size = std::size_t(cupola_shipped_end - cupola_shipped_begin);
}

int cupola_mandelbrot_async(uint64_t lattice, uint64_t graph, int iterations, float bound, int n,
                            cupola_stream* stream) {
    return guard([&] { mandelbrot(lattice, graph, iterations, bound, n, stream_of(stream)); });
}

int cupola_mandelbrot(const float* lattice, float* graph, int iterations, float bound, int n) {
    return guard([&] {
        if (n > 0) required(lattice, "lattice"), required(graph, "graph");
        Stream& stream = stream_of(nullptr);
        Current current(stream.context);
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
    return guard([&] {
        if (n) required(x, "x"), required(y, "y"), required(out, "out");
        Stream& stream = stream_of(nullptr);
        Current current(stream.context);
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
        const auto count = results(height, width, channels, filter_height, filter_width, border);
        if (count == 0) return;
        convolve({image, filter, out, height, width, channels, filter_height, filter_width, border},
                 count, s);
    });
}

int cupola_convolve(const float* image, const float* filter, float* out, int height, int width,
                    int channels, int filter_height, int filter_width, int border) {
    return guard([&] {
        const auto count = results(height, width, channels, filter_height, filter_width, border);
        if (count == 0) return;
        required(image, "image"), required(filter, "filter"), required(out, "out");
        Stream& stream = stream_of(nullptr);
        Current current(stream.context);
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
    return guard([&] {
        Stream& stream = stream_of(nullptr);
        Current current(stream.context);
        launch("hello", {{blocks, 1, 1}, {threads, 1, 1}, 0}, stream);
        stream.synchronize();
    });
}
