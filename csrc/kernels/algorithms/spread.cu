// csrc/kernels/algorithms/spread.cu - variances: squared distances from the mean, in one launch.
//
// A group of threads reads a part of a row twice: for its mean, then for the distances from it. The
// second time the part is in a cache. Where a row has several parts, another launch joins them. The
// order of additions depends only on shape and strides.
#include "moved.cuh"

namespace cupola::algorithms {

constexpr int in_flight = 4;  // loads of a thread before it uses the first one

struct Spread {
    i64 outer, inner, n;               // rows are numbered in C order of outer and inner
    i64 outer_step, inner_step, step;  // in elements
    i64 part, parts;                   // elements of a part, parts of a row
    double divisor;
    int root, width;  // whether to take the square root; threads of a group: 1, 32 or 256

    __device__ i64 rows() const { return outer * inner; }
    __device__ i64 length(i64 number) const {
        const i64 begin = number * part;
        return n - begin < part ? n - begin : part;
    }
};

// The sum of a value over the threads of a group; all threads of the block take part.
template <class T>
__device__ T group_sum(T value, int width) {
    if (width == 1) return value;
#pragma unroll
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
    if (width == 32) return value;
    __shared__ T sums[8];
    const int warp = static_cast<int>(threadIdx.x / 32);
    __syncthreads();  // the sums of the call before were read
    if (threadIdx.x % 32 == 0) sums[warp] = value;
    __syncthreads();
    T total = sums[0];
#pragma unroll
    for (int k = 1; k < 8; k++) total += sums[k];
    return total;
}

// The sum of f(x) over every `width`-th element.
template <class T, class F>
__device__ T strided_sum(const T* x, i64 step, i64 count, int lane, int width, const F& f) {
    T sums[in_flight] = {};
    i64 k = lane;
#pragma unroll 1
    for (; k + (in_flight - 1) * width < count; k += in_flight * width) {
        T values[in_flight];
#pragma unroll
        for (int j = 0; j < in_flight; j++) values[j] = x[(k + j * width) * step];
#pragma unroll
        for (int j = 0; j < in_flight; j++) sums[j] += f(values[j]);
    }
#pragma unroll 1
    for (; k < count; k += width) sums[0] += f(x[k * step]);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <class T>
__device__ T finished(T squares, const Spread& a) {
    const T value = squares / static_cast<T>(a.divisor);
    return a.root ? sqrt(value) : value;
}

// `parts` gets the mean and the squared distances of each part. Of a row with one part, `out` gets
// the result.
template <class T>
__device__ void spread_parts(const T* x, T* parts, T* out, const Spread& a) {
    const int groups = 256 / a.width, lane = static_cast<int>(threadIdx.x) % a.width;
    const i64 rows = a.rows(), unit = static_cast<i64>(blockIdx.x) * groups +
                                      static_cast<int>(threadIdx.x) / a.width;
    const bool mine = unit < rows * a.parts;
    const i64 number = mine ? unit / rows : 0, row = mine ? unit - number * rows : 0;
    const i64 count = mine ? a.length(number) : 0;
    const i64 o = row / a.inner;
    const T* begin =
        x + o * a.outer_step + (row - o * a.inner) * a.inner_step + number * a.part * a.step;
    const T sum = group_sum(
        strided_sum(begin, a.step, count, lane, a.width, [](T value) { return value; }), a.width);
    const T mean = sum / static_cast<T>(count);
    const T squares = group_sum(strided_sum(begin, a.step, count, lane, a.width,
                                            [mean](T value) {
                                                const T distance = value - mean;
                                                return distance * distance;
                                            }),
                                a.width);
    if (!mine || lane) return;
    if (a.parts == 1) {
        out[row] = finished(squares, a);
    } else {
        parts[2 * unit] = mean;
        parts[2 * unit + 1] = squares;
    }
}

// Joins the parts of each row: a warp for a row.
template <class T>
__device__ void join_parts(const T* parts, T* out, const Spread& a) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const i64 rows = a.rows(),
              row = static_cast<i64>(blockIdx.x) * 8 + static_cast<int>(threadIdx.x) / 32;
    const bool mine = row < rows;
    T sum = 0, squares = 0;
    for (i64 k = lane; mine && k < a.parts; k += 32)
        sum += parts[2 * (k * rows + row)] * static_cast<T>(a.length(k));
    const T mean = group_sum(sum, 32) / static_cast<T>(a.n);
    for (i64 k = lane; mine && k < a.parts; k += 32) {
        const T distance = parts[2 * (k * rows + row)] - mean;
        squares +=
            parts[2 * (k * rows + row) + 1] + distance * distance * static_cast<T>(a.length(k));
    }
    squares = group_sum(squares, 32);
    if (mine && lane == 0) out[row] = finished(squares, a);
}

}  // namespace cupola::algorithms

using namespace cupola::algorithms;

#define CUPOLA_SPREAD(T, suffix)                                                                   \
    extern "C" __global__ __launch_bounds__(256) void spread_parts_##suffix(                       \
        const T* x, T* parts, T* out, i64 outer, i64 inner, i64 n, i64 outer_step, i64 inner_step, \
        i64 step, i64 part, i64 count, double divisor, int root, int width) {                      \
        spread_parts<T>(                                                                           \
            x, parts, out,                                                                         \
            {outer, inner, n, outer_step, inner_step, step, part, count, divisor, root, width});   \
    }                                                                                              \
    extern "C" __global__ __launch_bounds__(256) void spread_join_##suffix(                        \
        const T* parts, T* out, i64 rows, i64 n, i64 part, i64 count, double divisor, int root) {  \
        join_parts<T>(parts, out, {rows, 1, n, 0, 0, 0, part, count, divisor, root, 32});          \
    }
CUPOLA_SPREAD(float, f32)
CUPOLA_SPREAD(double, f64)
