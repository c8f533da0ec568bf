// csrc/kernels/convolve.cu - 2-D correlation of an image with a small filter.
#include <cstdint>

#include "threads.cuh"

// Every kernel here computes out[r, c, k] = sum over i, j of
//     filter[i, j] * image[r + i - fh / 2, c + j - fw / 2, k]
// The filter is not flipped, and each channel is filtered separately. Arrays are in C order: images
// are (height, width, channels), filters (filter_height, filter_width) with odd sizes. The sum
// starts at 0 and goes over the filter row by row. Each product and sum is rounded, so that NumPy
// gives the same bits. Where `clamps` is not 0, a pixel outside of the image is the nearest pixel
// inside, otherwise 0. Any launch works (threads.cuh); `out` must not overlap the inputs.

namespace {

struct Image {
    const float* data;
    int height, width, channels, clamps;

    __device__ std::size_t offset(int row, int column) const {
        return (std::size_t{static_cast<unsigned>(row)} * width + column) * channels;
    }
};

// A row of one channel; a pixel outside of the image is 0 or the nearest pixel inside.
struct Line {
    const float* start;
    int step, last;
    bool clamps, none;

    __device__ Line(const Image& image, int row, int channel)
        : step(image.channels), last(image.width - 1), clamps(image.clamps != 0) {
        const int near = min(max(row, 0), image.height - 1);
        start = image.data + image.offset(near, 0) + channel;
        none = !clamps && near != row;
    }

    // Avoids branches: a position outside of the image reads a pixel inside.
    __device__ float at(int column) const {
        const int near = min(max(column, 0), last);
        const float read = start[std::ptrdiff_t{near} * step];
        return none | (!clamps & (near != column)) ? 0 : read;
    }
};

__device__ bool at_16_bytes(const void* p) {
    return reinterpret_cast<std::uintptr_t>(p) % sizeof(float4) == 0;
}

// The pixels of one row that `columns` adjacent results need: their own and `halo` at each side.
// With several channels there is one result.
template <int halo, int columns>
struct Row {
    static constexpr int count = columns + 2 * halo;
    float pixel[count];

    __device__ void load(const Image& image, int row, int column, int channel, bool vectors) {
        const Line line(image, row, channel);
        const bool inside = column >= 4 && column + columns + 4 <= image.width && !line.none;
        const int step = columns == 1 ? line.step : 1;
        const float* start = line.start + std::ptrdiff_t{column} * step;
        if (inside && columns == 4 && vectors) {
            load_vectors(start);
        } else if (inside) {
            start -= std::ptrdiff_t{halo} * step;
#pragma unroll
            for (int k = 0; k < count; ++k) pixel[k] = start[k * step];
        } else {
#pragma unroll
            for (int k = 0; k < count; ++k) pixel[k] = line.at(column + k - halo);
        }
    }

    // Loads at a 16-byte aligned position whose neighbouring pixels are all inside the image.
    __device__ void load_vectors(const float* start) {
        constexpr int side = halo <= 2 ? 2 : 4;
        float all[4 + 2 * side];
        copy<side>(all, start - side);
        copy<4>(all + side, start);
        copy<side>(all + side + 4, start + 4);
#pragma unroll
        for (int k = 0; k < count; ++k) pixel[k] = all[k + side - halo];
    }

    template <int n>
    __device__ static void copy(float* to, const float* from) {
        if (n == 2) {
            const float2 v = *reinterpret_cast<const float2*>(from);
            to[0] = v.x, to[1] = v.y;
        } else {
            const float4 v = *reinterpret_cast<const float4*>(from);
            to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
        }
    }
};

// Adds one row of the filter to the sums of one row of results. `from` is the previous sum, if any.
template <int size, int columns>
__device__ void add_row(float* to, const float* from, const float* weight, const float* pixel) {
#pragma unroll
    for (int k = 0; k < columns; ++k) {
        // The first product is added to 0 as well, because -0 + 0 is +0.
        float total = from ? __fadd_rn(from[k], __fmul_rn(weight[0], pixel[k]))
                           : __fmaf_rn(weight[0], pixel[k], 0.0f);
#pragma unroll
        for (int j = 1; j < size; ++j) total = __fadd_rn(total, __fmul_rn(weight[j], pixel[k + j]));
        to[k] = total;
    }
}

// A thread computes a strip of results, `columns` wide and `rows` high, from top to bottom. It
// loads each row of pixels once and adds it to the sums of the `size` rows of results that use it.
// Each sum still goes over the filter row by row. Images of several channels have strips of one
// column, because their neighbouring pixels are not adjacent in memory. Strips are as low as the
// launch has threads for.
template <int size, int columns>
__device__ void strips(const Image& image, const float* weight, float* out) {
    constexpr int halo = size / 2;
    const bool vectors = at_16_bytes(image.data) && at_16_bytes(out) && image.width % 4 == 0;
    // The number of strips in a row of results, over all channels.
    const std::size_t across =
        (std::size_t{static_cast<unsigned>(image.width)} * image.channels + columns - 1) / columns;
    const Ranks ranks = launch_ranks();
    const std::size_t most = ranks.stride / across;  // strips above each other
    const int down = most < 1 ? 1 : static_cast<int>(min(most, std::size_t(image.height)));
    const int rows = (image.height - 1) / down + 1;
    const std::size_t strips = across * ((image.height - 1) / rows + 1);
    for (std::size_t strip = ranks.first; strip < strips; strip += ranks.stride) {
        const int top = static_cast<int>(strip / across) * rows;
        const std::size_t place = strip % across * columns;
        const int column = static_cast<int>(place / image.channels);
        const int channel = static_cast<int>(place % image.channels);
        const int lines = min(rows, image.height - top) + size - 1;
        float* to = out + image.offset(top, column) + channel;
        // sum[i] belongs to the results that have i rows of the filter; a new row moves each to i
        // + 1.
        float sum[size][columns] = {};
        // Loads the next row while the current one is added.
        Row<halo, columns> row = {}, next;
#pragma unroll 1
        for (int line = -1; line < lines; ++line, row = next) {
            if (line + 1 < lines) next.load(image, top + line + 1 - halo, column, channel, vectors);
            if (line < 0) continue;
            float done[columns];
            add_row<size, columns>(done, sum[size - 1], weight + (size - 1) * size, row.pixel);
#pragma unroll
            for (int i = size - 2; i >= 0; --i)
                add_row<size, columns>(sum[i + 1], i ? sum[i] : nullptr, weight + i * size,
                                       row.pixel);
            if (line < size - 1) continue;
            if (columns == 4 && vectors) {
                __stcs(
                    reinterpret_cast<float4*>(to),
                    make_float4(done[0], done[1 % columns], done[2 % columns], done[3 % columns]));
            } else {
#pragma unroll
                for (int k = 0; k < columns; ++k)
                    if (column + k < image.width) __stcs(to + k, done[k]);
            }
            to += std::size_t{static_cast<unsigned>(image.width)} * image.channels;
        }
    }
}

template <int size>
__device__ void convolve_square(const Image& image, const float* filter, float* out) {
    if (image.height <= 0 || image.width <= 0 || image.channels <= 0) return;
    float weight[size * size];
#pragma unroll
    for (int k = 0; k < size * size; ++k) weight[k] = filter[k];
    if (image.channels == 1)
        strips<size, 4>(image, weight, out);
    else
        strips<size, 1>(image, weight, out);
}

}  // namespace

// Any filter; one result at a time.
extern "C" __global__ void convolve(const float* image, const float* filter, float* out, int height,
                                    int width, int channels, int filter_height, int filter_width,
                                    int clamps) {
    if (height <= 0 || width <= 0 || channels <= 0) return;
    const Image source{image, height, width, channels, clamps};
    const std::size_t elements = std::size_t{static_cast<unsigned>(height)} * width * channels;
    const Ranks ranks = launch_ranks();
    for (std::size_t element = ranks.first; element < elements; element += ranks.stride) {
        const std::size_t pixel = element / channels;
        const int channel = static_cast<int>(element - pixel * channels);
        const int row = static_cast<int>(pixel / width);
        const int column =
            static_cast<int>(pixel - std::size_t{static_cast<unsigned>(row)} * width);
        float sum = 0;
        for (int i = 0; i < filter_height; ++i) {
            const Line line(source, row + i - filter_height / 2, channel);
            const float* weight = filter + std::ptrdiff_t{i} * filter_width;
#pragma unroll 2
            for (int j = 0; j < filter_width; ++j)
                sum = __fadd_rn(sum, __fmul_rn(weight[j], line.at(column + j - filter_width / 2)));
        }
        out[element] = sum;
    }
}

// Filters of 3 x 3, 5 x 5 and 7 x 7, in strips. A thread has 4 columns, or one if there are several
// channels.
extern "C" __global__ void convolve_3(const float* image, const float* filter, float* out,
                                      int height, int width, int channels, int clamps) {
    convolve_square<3>({image, height, width, channels, clamps}, filter, out);
}

extern "C" __global__ void convolve_5(const float* image, const float* filter, float* out,
                                      int height, int width, int channels, int clamps) {
    convolve_square<5>({image, height, width, channels, clamps}, filter, out);
}

extern "C" __global__ void convolve_7(const float* image, const float* filter, float* out,
                                      int height, int width, int channels, int clamps) {
    convolve_square<7>({image, height, width, channels, clamps}, filter, out);
}
