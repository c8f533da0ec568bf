// benchmarks/variants/convolve.cuh - 2-D correlation: one pixel a thread, and strips of pixels.
#pragma once

#include "csrc/kernels/threads.cuh"

namespace correlate {

struct Image {
    const float* data;
    int height, width;

    __device__ float at(int row, int column, bool clamp) const {
        if (clamp) {
            row = min(max(row, 0), height - 1);
            column = min(max(column, 0), width - 1);
        }
        if (row < 0 || row >= height || column < 0 || column >= width) return 0;
        return data[std::size_t{static_cast<unsigned>(row)} * width + column];
    }
};

__device__ inline bool aligned(const void* p) {
    return reinterpret_cast<std::uintptr_t>(p) % sizeof(float4) == 0;
}

// `columns` results side by side, and `halo` pixels at either side of them.
template <int halo, int columns>
struct Row {
    float pixel[columns + 2 * halo];

    __device__ void load(const Image& image, int row, int column, bool clamp, bool vectors) {
        if (!clamp && (row < 0 || row >= image.height)) {
#pragma unroll
            for (float& p : pixel) p = 0;
            return;
        }
        row = min(max(row, 0), image.height - 1);
        const float* start =
            image.data + std::size_t{static_cast<unsigned>(row)} * image.width + column;
        const bool inside = column >= 4 && column + columns + 4 <= image.width;
        if (columns == 4 && halo <= 2 && vectors && inside) {
            const float2 left = *reinterpret_cast<const float2*>(start - 2);
            const float4 middle = *reinterpret_cast<const float4*>(start);
            const float2 right = *reinterpret_cast<const float2*>(start + 4);
            const float all[] = {left.x,   left.y,   middle.x, middle.y,
                                 middle.z, middle.w, right.x,  right.y};
#pragma unroll
            for (int k = 0; k < columns + 2 * halo; ++k) pixel[k] = all[k + 2 - halo];
        } else if (inside) {
#pragma unroll
            for (int k = 0; k < columns + 2 * halo; ++k) pixel[k] = start[k - halo];
        } else {
#pragma unroll
            for (int k = 0; k < columns + 2 * halo; ++k)
                pixel[k] = image.at(row, column + k - halo, clamp);
        }
    }
};

// A thread has a strip of `columns` x `rows` results and goes down it: each row of pixels is loaded
// once, and goes into the sums of the `size` rows of results that it is a part of. So every sum
// still runs over the filter row by row.
template <int size, int columns>
__device__ void strips(const float* data, const float* filter, float* out, int height, int width,
                       bool clamp, int rows) {
    constexpr int halo = size / 2;
    const Image image{data, height, width};
    const bool vectors = aligned(data) && aligned(out) && width % 4 == 0;
    float weight[size * size];
#pragma unroll
    for (int k = 0; k < size * size; ++k) weight[k] = filter[k];
    const unsigned across = (width + columns - 1) / columns, down = (height + rows - 1) / rows;
    const std::size_t items = std::size_t{across} * down;
    const Ranks ranks = launch_ranks();
    for (std::size_t item = ranks.first; item < items; item += ranks.stride) {
        const auto strip = static_cast<unsigned>(item / across);
        const int column = static_cast<int>(item - std::size_t{strip} * across) * columns;
        const int top = static_cast<int>(strip) * rows;
        const int last = min(rows, height - top) + size - 1;
        float sum[size][columns];
        for (int base = 0; base < last; base += size) {
#pragma unroll
            for (int s = 0; s < size; ++s) {
                const int line = base + s;
                if (line >= last) break;
                Row<halo, columns> row;
                row.load(image, top + line - halo, column, clamp, vectors);
#pragma unroll
                for (int i = 0; i < size; ++i) {
                    float* to = sum[(s - i + size) % size];
#pragma unroll
                    for (int k = 0; k < columns; ++k) {
                        // The first product is added to 0, which makes +0 of -0.
                        float total = i == 0 ? __fmaf_rn(weight[0], row.pixel[k], 0.0f) : to[k];
#pragma unroll
                        for (int j = i == 0 ? 1 : 0; j < size; ++j)
                            total =
                                __fadd_rn(total, __fmul_rn(weight[i * size + j], row.pixel[k + j]));
                        to[k] = total;
                    }
                }
                if (line < size - 1) continue;
                const float* done = sum[(s + 1) % size];
                float* to = out +
                            std::size_t{static_cast<unsigned>(top + line - (size - 1))} * width +
                            column;
                if (columns == 4 && vectors && column + 4 <= width) {
                    __stcs(reinterpret_cast<float4*>(to),
                           make_float4(done[0], done[1 % columns], done[2 % columns],
                                       done[3 % columns]));
                } else {
#pragma unroll
                    for (int k = 0; k < columns; ++k)
                        if (column + k < width) __stcs(to + k, done[k]);
                }
            }
        }
    }
}

}  // namespace correlate

extern "C" __global__ void convolve_plain(const float* data, const float* filter, float* out,
                                          int height, int width, int size, int border) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= height || column >= width) return;
    const correlate::Image image{data, height, width};
    float sum = 0;
    for (int i = 0; i < size; ++i)
        for (int j = 0; j < size; ++j) {
            const float pixel = image.at(row + i - size / 2, column + j - size / 2, border);
            sum = __fadd_rn(sum, __fmul_rn(filter[i * size + j], pixel));
        }
    out[std::size_t{static_cast<unsigned>(row)} * width + column] = sum;
}

#define CONVOLVE(columns, rows)                                                                    \
    extern "C" __global__ void convolve_##columns##_##rows(const float* data, const float* filter, \
                                                           float* out, int height, int width,      \
                                                           int size, int border) {                 \
        correlate::strips<5, columns>(data, filter, out, height, width, border, rows);             \
    }

CONVOLVE(4, 16)
CONVOLVE(4, 31)
CONVOLVE(4, 46)
CONVOLVE(4, 61)
CONVOLVE(4, 91)
CONVOLVE(2, 31)
CONVOLVE(2, 61)
#undef CONVOLVE
