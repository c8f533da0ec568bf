// csrc/kernels/algorithms/histogram.cu - how many elements are in each bin.
//
// Blocks count in shared memory where the bins fit, in several copies: warps that meet equal
// elements disturb each other less. The dynamic shared memory has `copies * bins` counters and,
// where both fit, the edges behind them.
#include "../array/types.cuh"
#include "../constants.h"
#include "moved.cuh"

namespace cupola::algorithms {

// Elements of a thread: all are loaded before the first one is counted.
template <class X>
constexpr int items_of = sizeof(X) <= 4 ? constants::histogram_items
                                        : constants::histogram_wide_items;

extern __shared__ unsigned long long shared_bins[];

// Calls `bin_of` for each element; adds `weight_of` to its bin, if it has one (none is -1).
template <class Counter, class Out, class X, class Bin, class Weight>
__device__ void count(const X* __restrict__ x, Out* out, i64 n, i64 bins, int copies, Bin bin_of,
                      Weight weight_of) {
    constexpr int items = items_of<X>;
    Counter* counters = reinterpret_cast<Counter*>(shared_bins);
    const i64 tile = static_cast<i64>(blockDim.x) * items;
    const int used = static_cast<int>(copies * bins);
    Counter* own = counters;
    if (copies) {
        for (int k = threadIdx.x; k < used; k += blockDim.x) counters[k] = 0;
        own += (threadIdx.x / 32) % copies * bins;
    }
    __syncthreads();  // the edges are in shared memory as well
    const auto add = [&](i64 p, X value) {
        const i64 found = bin_of(value);
        if (found < 0) return;
        if (copies)
            atomicAdd(own + found, static_cast<Counter>(weight_of(p)));
        else
            atomicAdd(out + found, static_cast<Out>(weight_of(p)));
    };
    for (i64 base = blockIdx.x * tile; base < n; base += gridDim.x * tile) {
        const i64 first = base + threadIdx.x;
        if (n - base < tile) {
            for (i64 p = first; p < n; p += blockDim.x) add(p, x[p]);
            break;
        }
        X values[items];
#pragma unroll
        for (int k = 0; k < items; k++) values[k] = x[first + k * static_cast<i64>(blockDim.x)];
#pragma unroll
        for (int k = 0; k < items; k++) add(first + k * static_cast<i64>(blockDim.x), values[k]);
    }
    if (!copies) return;
    __syncthreads();
    for (int k = threadIdx.x; k < bins; k += blockDim.x) {
        Counter sum = 0;
        for (int copy = 0; copy < copies; copy++) sum += counters[copy * bins + k];
        if (sum != 0) atomicAdd(out + k, static_cast<Out>(sum));
    }
}

// NumPy's rule: a bin has its left edge, and the last one its right edge, too.
template <class C>
struct Edges {
    const C* __restrict__ edges;
    i64 bins;
    int even;
    double first, scale;
    // For bins of equal width: where the estimated position is farther than this distance from a
    // whole number, the estimated bin is right. 1 where no estimate is trusted.
    double error;

    // Moves the edges behind the counters; called by all threads of the block.
    __device__ void stage(int copies) {
        C* staged = reinterpret_cast<C*>(shared_bins + (copies * bins + 1) / 2);
        for (i64 k = threadIdx.x; k <= bins; k += blockDim.x) staged[k] = edges[k];
        edges = staged;
    }

    __device__ i64 operator()(C value) const {
        if (!(value >= edges[0] && value <= edges[bins])) return -1;
        if (even) {
            const C estimate = (value - static_cast<C>(first)) * static_cast<C>(scale);
            if constexpr (std::is_floating_point_v<C>) {
                const int bin = static_cast<int>(estimate);
                const C inside = estimate - static_cast<C>(bin), least = static_cast<C>(error);
                if (inside >= least && inside <= 1 - least) return bin;
            }
            i64 bin = static_cast<i64>(estimate);
            bin = bin < 0 ? 0 : bin < bins ? bin : bins - 1;
            while (bin > 0 && value < edges[bin]) bin--;
            while (bin < bins - 1 && value >= edges[bin + 1]) bin++;
            return bin;
        }
        i64 low = 0, high = bins - 1;  // the last edge that is not above the value
        while (low < high) {
            const i64 middle = low + (high - low + 1) / 2;
            if (edges[middle] <= value)
                low = middle;
            else
                high = middle - 1;
        }
        return low;
    }
};

struct One {
    __device__ unsigned operator()(i64) const { return 1; }
};

using Count = unsigned long long;

}  // namespace cupola::algorithms

using namespace cupola::algorithms;

// The type of elements, and the type of edges to which they are converted.
#define CUPOLA_HISTOGRAM(T, C)                                                                  \
    extern "C" __global__ void histogram_##T##_##C(                                             \
        const cupola::arrays::T* x, const cupola::arrays::C* edges, Count* out, std::int64_t n, \
        std::int64_t bins, int even, double start, double scale, double error, int staged,      \
        int copies) {                                                                           \
        Edges<cupola::arrays::C> bin{edges, bins, even, start, scale, error};                   \
        if (staged) bin.stage(copies);                                                          \
        const auto bin_of = [&](cupola::arrays::T value) {                                      \
            return bin(static_cast<cupola::arrays::C>(value));                                  \
        };                                                                                      \
        count<unsigned>(x, out, n, bins, copies, bin_of, One{});                                \
    }
CUPOLA_HISTOGRAM(u8, f64)
CUPOLA_HISTOGRAM(i32, f64)
CUPOLA_HISTOGRAM(i64, f64)
CUPOLA_HISTOGRAM(u64, f64)
CUPOLA_HISTOGRAM(f32, f32)
CUPOLA_HISTOGRAM(f64, f64)
CUPOLA_HISTOGRAM(i64, i64)
CUPOLA_HISTOGRAM(u64, u64)

#define CUPOLA_BINS(C)                                                                           \
    extern "C" __global__ void histogram_bins_##C(                                               \
        const cupola::arrays::C* x, const cupola::arrays::C* edges, std::int64_t* out,           \
        std::int64_t n, std::int64_t bins, int even, double start, double scale, double error) { \
        const Edges<cupola::arrays::C> bin{edges, bins, even, start, scale, error};              \
        for (std::int64_t p = first<std::int64_t>(); p < n; p += threads<std::int64_t>())        \
            out[p] = bin(x[p]);                                                                  \
    }
CUPOLA_BINS(f32)
CUPOLA_BINS(f64)
CUPOLA_BINS(i64)
CUPOLA_BINS(u64)

#define CUPOLA_COUNTS(I)                                                                        \
    extern "C" __global__ void histogram_counts_##I(const cupola::arrays::I* index, Count* out, \
                                                    std::int64_t n, std::int64_t bins,          \
                                                    int copies) {                               \
        const auto bin_of = [](cupola::arrays::I value) {                                       \
            return static_cast<std::int64_t>(value);                                            \
        };                                                                                      \
        count<unsigned>(index, out, n, bins, copies, bin_of, One{});                            \
    }                                                                                           \
    extern "C" __global__ void histogram_weights_##I(                                           \
        const cupola::arrays::I* index, const double* weights, double* out, std::int64_t n,     \
        std::int64_t bins, int copies) {                                                        \
        const auto bin_of = [](cupola::arrays::I value) {                                       \
            return static_cast<std::int64_t>(value);                                            \
        };                                                                                      \
        const auto weight_of = [&](std::int64_t p) { return weights[p]; };                      \
        count<double>(index, out, n, bins, copies, bin_of, weight_of);                          \
    }
CUPOLA_COUNTS(i32)
CUPOLA_COUNTS(i64)
CUPOLA_COUNTS(u8)
