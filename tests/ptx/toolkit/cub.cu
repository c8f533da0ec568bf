// tests/ptx/toolkit/cub.cu - CUB's operations of a block and of a warp.
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

constexpr int block = 128, items = 4;

template <class T>
__device__ void load(const T* in, T (&x)[items]) {
    for (int n = 0; n < items; ++n) x[n] = in[(blockIdx.x * block + threadIdx.x) * items + n];
}
template <class T>
__device__ void store(const T (&x)[items], T* out) {
    for (int n = 0; n < items; ++n) out[(blockIdx.x * block + threadIdx.x) * items + n] = x[n];
}
struct Greater {
    __device__ int operator()(int a, int b) const { return a > b ? a : b; }
};

template <cub::BlockReduceAlgorithm Algorithm>
__device__ void reduce(const int* in, int* out) {
    using Reduce = cub::BlockReduce<int, block, Algorithm>;
    __shared__ typename Reduce::TempStorage shared;
    int x[items];
    load(in, x);
    const int sum = Reduce(shared).Sum(x);
    __syncthreads();
    const int most = Reduce(shared).Reduce(x, Greater());
    if (threadIdx.x == 0) out[2 * blockIdx.x] = sum, out[2 * blockIdx.x + 1] = most;
}
extern "C" __global__ void reduce_raking(const int* in, int* out) {
    reduce<cub::BLOCK_REDUCE_RAKING>(in, out);
}
extern "C" __global__ void reduce_warps(const int* in, int* out) {
    reduce<cub::BLOCK_REDUCE_WARP_REDUCTIONS>(in, out);
}

template <cub::BlockScanAlgorithm Algorithm>
__device__ void scan(const int* in, int* out) {
    using Scan = cub::BlockScan<int, block, Algorithm>;
    __shared__ typename Scan::TempStorage shared;
    int x[items], y[items];
    load(in, x);
    Scan(shared).InclusiveSum(x, y);
    store(y, out);
}
extern "C" __global__ void scan_raking(const int* in, int* out) {
    scan<cub::BLOCK_SCAN_RAKING>(in, out);
}
extern "C" __global__ void scan_warps(const int* in, int* out) {
    scan<cub::BLOCK_SCAN_WARP_SCANS>(in, out);
}

template <class T>
__device__ void sort(const T* in, T* out) {
    using Sort = cub::BlockRadixSort<T, block, items>;
    __shared__ typename Sort::TempStorage shared;
    T x[items];
    load(in, x);
    Sort(shared).Sort(x);
    store(x, out);
}
extern "C" __global__ void sort_unsigned(const unsigned* in, unsigned* out) { sort(in, out); }
extern "C" __global__ void sort_float(const float* in, float* out) { sort(in, out); }
extern "C" __global__ void sort_pairs(const int* in, int* out) {
    using Sort = cub::BlockRadixSort<int, block, items, int>;
    __shared__ typename Sort::TempStorage shared;
    int x[items], place[items];
    load(in, x);
    for (int n = 0; n < items; ++n) place[n] = threadIdx.x * items + n;
    Sort(shared).SortDescending(x, place);
    store(place, out);
}

template <cub::BlockHistogramAlgorithm Algorithm>
__device__ void histogram(const unsigned char* in, unsigned* out) {
    using Histogram = cub::BlockHistogram<unsigned char, block, items, 256, Algorithm>;
    __shared__ typename Histogram::TempStorage shared;
    __shared__ unsigned bins[256];
    unsigned char x[items];
    load(in, x);
    Histogram(shared).Histogram(x, bins);
    __syncthreads();
    for (int n = threadIdx.x; n < 256; n += block) out[blockIdx.x * 256 + n] = bins[n];
}
extern "C" __global__ void histogram_sort(const unsigned char* in, unsigned* out) {
    histogram<cub::BLOCK_HISTO_SORT>(in, out);
}
extern "C" __global__ void histogram_atomic(const unsigned char* in, unsigned* out) {
    histogram<cub::BLOCK_HISTO_ATOMIC>(in, out);
}

// Sums and running sums of groups of 8 and of whole warps.
extern "C" __global__ void warps(const int* in, int* out) {
    using Reduce = cub::WarpReduce<int, 8>;
    using Scan = cub::WarpScan<int>;
    __shared__ typename Reduce::TempStorage reduces[block / 8];
    __shared__ typename Scan::TempStorage scans[block / 32];
    const int i = blockIdx.x * block + threadIdx.x;
    const int sum = Reduce(reduces[threadIdx.x / 8]).Sum(in[i]);
    int running, total;
    Scan(scans[threadIdx.x / 32]).ExclusiveSum(in[i], running, total);
    out[3 * i] = threadIdx.x % 8 == 0 ? sum : 0;
    out[3 * i + 1] = running;
    out[3 * i + 2] = total;
}
