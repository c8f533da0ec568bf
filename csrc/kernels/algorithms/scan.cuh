// csrc/kernels/algorithms/scan.cuh - scans of rows: in tiles, by a warp, and of columns.
//
// Each source that includes it makes one image of few kernels: a driver takes about 50 us to load
// one.
#pragma once

#include "../constants.h"
#include "tile_totals.cuh"

namespace cupola::algorithms {

using namespace constants;

constexpr int warps = scan_tile_threads / 32;

// Elements of a thread.
template <class T>
constexpr int items_of = sizeof(T) >= 16  ? scan_items_16
                         : sizeof(T) == 8 ? scan_items_8
                                          : scan_items_4;

// A tile of a row. Reads and writes each element once.
template <class Op>
__device__ void scan_tile(const Op& op, const typename Op::In* in, typename Op::Out* out,
                          u64* words, i64 n, u32 tiles) {
    using T = typename Op::Total;
    constexpr int items = items_of<T>, warp_items = 32 * items;
    __shared__ union Shared {
        T elements[warps][warp_items];
        __device__ Shared() {}
    } shared;
    __shared__ union Totals {
        T totals[warps];
        __device__ Totals() {}
    } of_warps;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const i64 row = blockIdx.x / tiles;
    const u32 tile = blockIdx.x % tiles;
    const i64 start = static_cast<i64>(tile) * (warps * warp_items) + warp * warp_items;
    const int left = static_cast<int>(max(min(n - start, i64{warp_items}), i64{0}));
    in += row * n + start;
    out += row * n + start;

    T* own = shared.elements[warp];
    T values[items];
    // All loads come before the stores. The compiler does not reorder the stores.
    if (left == warp_items) {
#pragma unroll
        for (int i = 0; i < items; ++i) values[i] = op.load(in[32 * i + lane]);
    } else {
#pragma unroll
        for (int i = 0; i < items; ++i)
            values[i] = 32 * i + lane < left ? op.load(in[32 * i + lane]) : T{};
    }
#pragma unroll
    for (int i = 0; i < items; ++i) own[32 * i + lane] = values[i];
    __syncwarp();
#pragma unroll
    for (int i = 0; i < items; ++i) values[i] = own[lane * items + i];
#pragma unroll
    for (int i = 1; i < items; ++i) values[i] = op.combine(values[i - 1], values[i]);
    const T scanned = scan_lanes(op, values[items - 1], lane);
    T before = from_below(scanned, 1);
    if (lane == 31) of_warps.totals[warp] = scanned;
    __syncthreads();
    if (warp == 0) {
        T total = scan_lanes(op, of_warps.totals[lane % warps], lane);
        if (tiles > 1) {
            const TileTotals<Op> totals{words + row * TileTotals<Op>::size(tiles), tiles};
            const T all = TileTotals<Op>::from_lane(total, warps - 1);
            const T prefix = totals.exchange(op, tile, all, lane);
            // Lane i has the total of all warps before warp i + 1; the last lane has the total
            // before warp 0.
            if (tile > 0) total = lane == 31 ? prefix : op.combine(prefix, total);
        }
        __syncwarp();  // all lanes have read
        if (lane < warps - 1) of_warps.totals[lane + 1] = total;
        if (lane == 31) of_warps.totals[0] = total;
    }
    __syncthreads();
    const T outside = of_warps.totals[warp];
    const bool is_outside = tile > 0 || warp > 0;
    if (is_outside) before = lane > 0 ? op.combine(outside, before) : outside;
    if (is_outside || lane > 0) {
#pragma unroll
        for (int i = 0; i < items; ++i) values[i] = op.combine(before, values[i]);
    }
#pragma unroll
    for (int i = 0; i < items; ++i) own[lane * items + i] = values[i];
    __syncwarp();
#pragma unroll
    for (int i = 0; i < items; ++i) values[i] = own[32 * i + lane];
    if (left == warp_items) {
#pragma unroll
        for (int i = 0; i < items; ++i) out[32 * i + lane] = op.store(values[i]);
    } else {
#pragma unroll
        for (int i = 0; i < items; ++i)
            if (32 * i + lane < left) out[32 * i + lane] = op.store(values[i]);
    }
}

// A warp for each row, or for several rows of at most 16 elements.
template <class Op>
__device__ void scan_rows(const Op& op, const typename Op::In* in, typename Op::Out* out, i64 rows,
                          int n) {
    using T = typename Op::Total;
    const int lane = threadIdx.x % 32;
    const i64 warp = (static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
    const int each = n > 16 ? 1 : 32 / n;
    const int inner = n > 16 ? 0 : lane / n * n;
    const i64 size = min(static_cast<i64>(each), rows - warp * each) * n;
    if (size <= 0) return;
    in += warp * each * n;
    out += warp * each * n;
    T before{};
    for (i64 start = 0; start < size; start += 32) {
        T value{};
        if (start + lane < size) value = op.load(in[start + lane]);
        value = scan_lanes(op, value, lane, inner);
        if (start > 0) value = op.combine(before, value);
        if (start + lane < size) out[start + lane] = op.store(value);
        before = TileTotals<Op>::from_lane(value, 31);
    }
}

// A thread scans one of the `inner` columns of a matrix. Each matrix has `n` rows.
template <class Op>
__device__ void scan_columns(const Op& op, const typename Op::In* in, typename Op::Out* out,
                             i64 columns, i64 n, i64 inner) {
    using T = typename Op::Total;
    constexpr int unrolled = 4;
    const i64 column = static_cast<i64>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (column >= columns) return;
    const i64 start = column / inner * n * inner + column % inner;
    in += start;
    out += start;
    T total{};
    for (i64 i = 0; i < n; i += unrolled) {
        T values[unrolled];
#pragma unroll
        for (int j = 0; j < unrolled; ++j)
            if (i + j < n) values[j] = op.load(in[(i + j) * inner]);
#pragma unroll
        for (int j = 0; j < unrolled; ++j) {
            if (i + j >= n) break;
            total = i + j == 0 ? values[j] : op.combine(total, values[j]);
            out[(i + j) * inner] = op.store(total);
        }
    }
}

}  // namespace cupola::algorithms

#define CUPOLA_SCANS(name, I, O, SPEC, ...)                                                  \
    extern "C" __global__ void __launch_bounds__(scan_tile_threads, 3)                       \
        scan_tiles_##name(const I* in, O* out, u64* words, i64 n, u32 tiles, SPEC spec) {    \
        scan_tile(__VA_ARGS__, in, out, words, n, tiles);                                    \
    }                                                                                        \
    extern "C" __global__ void __launch_bounds__(scan_threads)                               \
        scan_rows_##name(const I* in, O* out, i64 rows, int n, SPEC spec) {                  \
        scan_rows(__VA_ARGS__, in, out, rows, n);                                            \
    }                                                                                        \
    extern "C" __global__ void __launch_bounds__(scan_threads)                               \
        scan_columns_##name(const I* in, O* out, i64 columns, i64 n, i64 inner, SPEC spec) { \
        scan_columns(__VA_ARGS__, in, out, columns, n, inner);                               \
    }
