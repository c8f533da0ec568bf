// csrc/kernels/convolve.cu - 2-D correlation of an image with a small filter.
#include "threads.cuh"

namespace {

constexpr int border_clamp = 1;  // else zero: CUPOLA_BORDER_ZERO, CUPOLA_BORDER_CLAMP

struct Image {
    const float* data;
    int height, width, channels;

    // The pixel there; outside of the image 0, or the nearest pixel inside.
    __device__ float at(int row, int column, int channel, int border) const {
        if (border == border_clamp) {
            row = min(max(row, 0), height - 1);
            column = min(max(column, 0), width - 1);
        }
        if (row < 0 || row >= height || column < 0 || column >= width) return 0;
        const std::size_t pixel = std::size_t{static_cast<unsigned>(row)} * width + column;
        return data[pixel * channels + channel];
    }
};

}  // namespace

// out[r, c, k] = sum over i, j of filter[i, j] * image[r + i - fh / 2, c + j - fw / 2, k]: the
// filter is not flipped, and each channel is filtered alone. Arrays are in C order, images as
// (height, width, channels), filters as (filter_height, filter_width) of odd sizes. The sum starts
// from 0 and runs over the filter row by row; products and sums are rounded each, so that NumPy
// can do the same. Any launch (threads.cuh); `out` must not overlap what is read.
extern "C" __global__ void convolve(const float* image, const float* filter, float* out, int height,
                                    int width, int channels, int filter_height, int filter_width,
                                    int border) {
    if (height <= 0 || width <= 0 || channels <= 0) return;
    const Image source{image, height, width, channels};
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
                const float value = source.at(row + i - filter_height / 2,
                                              column + j - filter_width / 2, channel, border);
                sum = __fadd_rn(sum, __fmul_rn(filter[i * filter_width + j], value));
            }
        out[element] = sum;
    }
}
