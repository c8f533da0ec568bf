// csrc/kernels/algorithms/segments.cu - reductions of segments of rows, by a warp or a block each.
#include "../constants.h"
#include "tile_totals.cuh"

using namespace cupola::algorithms;
using cupola::constants::segments_threads;

namespace {

// A warp reduces at least one element. A lane takes each 32nd element, or adjacent elements where
// the order matters. A lane combines `run` elements to a total, and then the totals: so the error
// of a long sum stays small.
template <class Op>
__device__ typename Op::Total reduce(const Op& op, const typename Op::In* in, i64 size, int lane) {
    using T = typename Op::Total;
    constexpr int run = 64, unrolled = 4;
    const i64 each = (size + 31) / 32;
    const i64 begin = Op::ordered ? each * lane : lane, step = Op::ordered ? 1 : 32;
    const i64 end = Op::ordered ? min(size, begin + each) : size;
    T total{};
    for (i64 start = begin; start < end; start += run * step) {
        const i64 stop = min(end, start + run * step);
        T partial{};
        for (i64 at = start; at < stop; at += unrolled * step) {
            T values[unrolled];
#pragma unroll
            for (int i = 0; i < unrolled; ++i)
                if (at + i * step < stop) values[i] = op.load(in[at + i * step]);
#pragma unroll
            for (int i = 0; i < unrolled; ++i)
                if (at + i * step < stop)
                    partial = at + i * step == start ? values[i] : op.combine(partial, values[i]);
        }
        total = start == begin ? partial : op.combine(total, partial);
    }
    const i64 lanes = Op::ordered ? (size + each - 1) / each : min(size, i64{32});
    return TileTotals<Op>::from_lane(scan_lanes(op, total, lane), static_cast<int>(lanes) - 1);
}

// Segment i of a row is from `indices[i]` to the next index, or to the end; it has at least one
// element.
template <int warps, class Op>
__device__ void reduce_segments(const Op& op, const typename Op::In* in, const i64* indices,
                                typename Op::Out* out, i64 rows, i64 n, i64 count) {
    using T = typename Op::Total;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const i64 at = warps == 1 ? static_cast<i64>(blockIdx.x) * (blockDim.x / 32) + warp
                              : static_cast<i64>(blockIdx.x);
    if (at >= rows * count) return;
    const i64 segment = at % count, begin = indices[segment];
    const i64 next = segment + 1 < count ? indices[segment + 1] : n;
    const i64 size = max(next - begin, i64{1});
    in += at / count * n + begin;
    if constexpr (warps == 1) {
        const T total = reduce(op, in, size, lane);
        if (lane == 0) out[at] = op.store(total);
    } else {
        __shared__ union Totals {
            T of_warp[warps];
            __device__ Totals() {}
        } shared;
        const i64 each = (size + warps * 32 - 1) / (warps * 32) * 32;
        if (each * warp < size) {
            const T total = reduce(op, in + each * warp, min(each, size - each * warp), lane);
            if (lane == 0) shared.of_warp[warp] = total;
        }
        __syncthreads();
        if (threadIdx.x > 0) return;
        T all = shared.of_warp[0];
        for (int i = 1; i < warps && each * i < size; ++i) all = op.combine(all, shared.of_warp[i]);
        out[at] = op.store(all);
    }
}

}  // namespace

#define CUPOLA_SEGMENTS(name, I, O, SPEC, ...)                                                 \
    extern "C" __global__ void __launch_bounds__(segments_threads) segments_by_warps_##name(   \
        const I* in, const i64* indices, O* out, i64 rows, i64 n, i64 count, SPEC spec) {      \
        reduce_segments<1>(__VA_ARGS__, in, indices, out, rows, n, count);                     \
    }                                                                                          \
    extern "C" __global__ void __launch_bounds__(segments_threads) segments_by_blocks_##name(  \
        const I* in, const i64* indices, O* out, i64 rows, i64 n, i64 count, SPEC spec) {      \
        reduce_segments<segments_threads / 32>(__VA_ARGS__, in, indices, out, rows, n, count); \
    }

CUPOLA_ACCUMULATORS(CUPOLA_SEGMENTS)
