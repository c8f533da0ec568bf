// csrc/kernels/convolve.cu - 2-D correlation of an image with a small filter.
#include <cstdint>

#include "threads.cuh"

// What all kernels here compute: out[r, c, k] = sum over i, j of
//     filter[i, j] * image[r + i - fh / 2, c + j - fw / 2, k]
// The filter is not flipped, and each channel is filtered alone. Arrays are in C order, images as
// (height, width, channels), filters as (filter_height, filter_width) of odd sizes. The sum starts
// from 0 and runs over the filter row by row; products and sums are rounded each, so that NumPy
// can do the same. Any launch (threads.cuh); `out` must not overlap what is read.

namespace {

constexpr int border_clamp = 1;  // else zero: CUPOLA_BORDER_ZERO, CUPOLA_BORDER_CLAMP

struct Image {
    const float* data;
    int height, width, channels, border;

    __device__ std::size_t offset(int row, int column) const {
        return (std::size_t{static_cast<unsigned>(row)} * width + column) * channels;
    }

    __device__ bool has_row(int row) const { return row >= 0 && row < height; }

    // The pixel there; outside of the image 0, or the nearest pixel inside.
    __device__ float at(int row, int column, int channel) const {
        if (border == border_clamp) {
            row = min(max(row, 0), height - 1);
            column = min(max(column, 0), width - 1);
        }
        if (!has_row(row) || column < 0 || column >= width) return 0;
        return data[offset(row, column) + channel];
    }
};

__device__ bool at_16_bytes(const void* p) {
    return reinterpret_cast<std::uintptr_t>(p) % sizeof(float4) == 0;
}

// The pixels of one row that `columns` results side by side need: these, and `halo` at either side.
// Where there are several channels, one result.
template <int halo, int columns>
struct Row {
    static constexpr int count = columns + 2 * halo;
    float pixel[count];

    __device__ void load(const Image& image, int row, int column, int channel, bool vectors) {
        if (image.border != border_clamp && !image.has_row(row)) {
#pragma unroll
            for (float& p : pixel) p = 0;
            return;
        }
        row = min(max(row, 0), image.height - 1);
        const float* start = image.data + image.offset(row, column) + channel;
        const bool inside = column >= 4 && column + columns + 4 <= image.width;
        if (inside && columns == 4 && vectors) {
            load_vectors(start);
        } else if (inside) {
            const int step = columns == 1 ? image.channels : 1;
#pragma unroll
            for (int k = 0; k < count; ++k) pixel[k] = start[(k - halo) * step];
        } else {
#pragma unroll
            for (int k = 0; k < count; ++k) pixel[k] = image.at(row, column + k - halo, channel);
        }
    }

    // Of a place at 16 bytes, the pixels around which are inside the image.
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

// One row of the filter goes into the sums of one row of results.
template <int size, int columns>
__device__ void add_row(float* sum, const float* weight, const float* pixel, bool first) {
#pragma unroll
    for (int k = 0; k < columns; ++k) {
        // The sum of the first product and 0 is rounded once as well, and +0 where that is -0.
        float total = first ? __fmaf_rn(weight[0], pixel[k], 0.0f)
                            : __fadd_rn(sum[k], __fmul_rn(weight[0], pixel[k]));
#pragma unroll
        for (int j = 1; j < size; ++j) total = __fadd_rn(total, __fmul_rn(weight[j], pixel[k + j]));
        sum[k] = total;
    }
}

// A thread has a strip of results, `columns` wide and `rows` high, and goes down it: each row of
// pixels is loaded once, and goes into the sums of the `size` rows of results it is a part of. So
// each sum still runs over the filter row by row. Images of several channels have strips of one
// column: their neighbours lie apart.
template <int size, int columns>
__device__ void strips(const Image& image, const float* filter, float* out, int rows) {
    constexpr int halo = size / 2;
    const bool vectors = at_16_bytes(image.data) && at_16_bytes(out) && image.width % 4 == 0;
    float weight[size * size];
#pragma unroll
    for (int k = 0; k < size * size; ++k) weight[k] = filter[k];
    // Results side by side in a row, over all channels, by strips.
    const std::size_t across =
        (std::size_t{static_cast<unsigned>(image.width)} * image.channels + columns - 1) / columns;
    const std::size_t strips = across * ((image.height - 1) / rows + 1);
    const Ranks ranks = launch_ranks();
    for (std::size_t strip = ranks.first; strip < strips; strip += ranks.stride) {
        const int top = static_cast<int>(strip / across) * rows;
        const std::size_t place = strip % across * columns;
        const int column = static_cast<int>(place / image.channels);
        const int channel = static_cast<int>(place % image.channels);
        const int lines = min(rows, image.height - top) + size - 1;
        float sum[size][columns];
        for (int base = 0; base < lines; base += size) {
#pragma unroll
            for (int s = 0; s < size; ++s) {
                const int line = base + s;
                if (line >= lines) break;
                Row<halo, columns> row;
                row.load(image, top + line - halo, column, channel, vectors);
#pragma unroll
                for (int i = 0; i < size; ++i)
                    add_row<size, columns>(sum[(s - i + size) % size], weight + i * size, row.pixel,
                                           i == 0);
                if (line < size - 1) continue;
                const float* done = sum[(s + 1) % size];
                float* to = out + image.offset(top + line - (size - 1), column) + channel;
                if (columns == 4 && vectors) {
                    __stcs(reinterpret_cast<float4*>(to),
                           make_float4(done[0], done[1 % columns], done[2 % columns],
                                       done[3 % columns]));
                    continue;
                }
#pragma unroll
                for (int k = 0; k < columns; ++k)
                    if (column + k < image.width) __stcs(to + k, done[k]);
            }
        }
    }
}

template <int size>
__device__ void convolve_square(const Image& image, const float* filter, float* out, int rows) {
    if (image.height <= 0 || image.width <= 0 || image.channels <= 0 || rows <= 0) return;
    if (image.channels == 1)
        strips<size, 4>(image, filter, out, rows);
    else
        strips<size, 1>(image, filter, out, rows);
}

}  // namespace

// Any filter, a result at a time.
extern "C" __global__ void convolve(const float* image, const float* filter, float* out, int height,
                                    int width, int channels, int filter_height, int filter_width,
                                    int border) {
    if (height <= 0 || width <= 0 || channels <= 0) return;
    const Image source{image, height, width, channels, border};
    const std::size_t elements = std::size_t{static_cast<unsigned>(height)} * width * channels;
    const Ranks ranks = launch_ranks();
    for (std::size_t element = ranks.first; element < elements; element += ranks.stride) {
        const std::size_t pixel = element / channels;
        const int channel = static_cast<int>(element - pixel * channels);
        const int row = static_cast<int>(pixel / width);
        const int column =
            static_cast<int>(pixel - std::size_t{static_cast<unsigned>(row)} * width);
        float sum = 0;
        for (int i = 0; i < filter_height; ++i)
            for (int j = 0; j < filter_width; ++j) {
                const float value =
                    source.at(row + i - filter_height / 2, column + j - filter_width / 2, channel);
                sum = __fadd_rn(sum, __fmul_rn(filter[i * filter_width + j], value));
            }
        out[element] = sum;
    }
}

// Filters of 3 x 3, 5 x 5 and 7 x 7, by strips of `rows` results; a thread has 4 columns of them,
// or one where there are several channels.
extern "C" __global__ void convolve_3(const float* image, const float* filter, float* out,
                                      int height, int width, int channels, int border, int rows) {
    convolve_square<3>({image, height, width, channels, border}, filter, out, rows);
}

extern "C" __global__ void convolve_5(const float* image, const float* filter, float* out,
                                      int height, int width, int channels, int border, int rows) {
    convolve_square<5>({image, height, width, channels, border}, filter, out, rows);
}

extern "C" __global__ void convolve_7(const float* image, const float* filter, float* out,
                                      int height, int width, int channels, int border, int rows) {
    convolve_square<7>({image, height, width, channels, border}, filter, out, rows);
}
