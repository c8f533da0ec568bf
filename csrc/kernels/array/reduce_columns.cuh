// csrc/kernels/array/reduce_columns.cuh - reductions whose adjacent elements belong to different
// results.
#pragma once

#include "reduce.cuh"

namespace cupola::arrays {

// The columns of a thread. Adjacent elements are loaded as a pack. If the columns are apart in
// memory, adjacent threads have neighbouring columns.
struct Columns {
    bool packed;
    unsigned first, step;  // in the tile
    unsigned long long count;
    long long apart;  // bytes from one to the next in x

    __device__ Columns(const Reduced& a, int n, unsigned size, unsigned lane, unsigned width,
                       unsigned long long tile)
        : packed(a.column_x == size),
          first(packed ? lane * n : lane),
          step(packed ? 1 : width),
          apart(a.column_x * step) {
        const unsigned long long column = tile + first;
        count = column < a.columns ? (a.columns - column + step - 1) / step : 0;
    }
};

// Each thread reduces every groups-th row of a few columns, from its first row.
template <class S, int n, class A>
__device__ void reduce_columns_of(const Reduced& a, unsigned long long address,
                                  const Columns& columns, unsigned rows, unsigned groups,
                                  Running<A, n>& running, A neutral) {
    constexpr unsigned bytes = n * sizeof(S);
    const S fill = reduction::filler<S>(a);
    const long long step = a.row_step * groups;
    const bool full = columns.count >= n;
    const bool whole = full && columns.packed && address % bytes == 0 && a.row_step % bytes == 0;
    for (unsigned row = 0; row < rows; row += in_flight * groups) {
        Pack<S, n> packs[in_flight];
        if (whole && row + (in_flight - 1) * groups < rows) {
#pragma unroll
            for (int i = 0; i < in_flight; ++i) {
                packs[i] = load_pack<Pack<S, n>>(address);
                address += step;
            }
        } else if (full && row + (in_flight - 1) * groups < rows) {
#pragma unroll
            for (int i = 0; i < in_flight; ++i) {
#pragma unroll
                for (int k = 0; k < n; ++k)
                    packs[i].at[k] = *reinterpret_cast<const S*>(address + k * columns.apart);
                address += step;
            }
        } else {
#pragma unroll 1
            for (int i = 0; i < in_flight; ++i) {  // the elements rotate in registers
#pragma unroll
                for (int k = 0; k + 1 < in_flight; ++k) packs[k] = packs[k + 1];
                const unsigned long long there = row + i * groups < rows ? columns.count : 0;
#pragma unroll
                for (int k = 0; k < n; ++k)
                    packs[in_flight - 1].at[k] =
                        k < there ? *reinterpret_cast<const S*>(address + k * columns.apart) : fill;
                address += step;
            }
        }
        reduction::choose(a.joint, [&](auto chosen) {
#pragma unroll
            for (int i = 0; i < in_flight; ++i) {
#pragma unroll
                for (int k = 0; k < n; ++k)
                    running.inner[k] =
                        chosen.of(running.inner[k], element_of<A>(packs[i].at[k], a.truth));
            }
        });
        running.end_step(a.joint, neutral, flush_after / in_flight,
                         row + in_flight * groups >= rows);
    }
}

// A block reduces a tile of columns. Its threads form rows of 2^log_width, and each row of threads
// takes different rows of the array.
template <class S>
__device__ void reduce_columns(const Reduced& a) {
    using A = Accumulator<S>;
    constexpr int n = column_pack(sizeof(S)) / sizeof(S);
    __shared__ A parts[reducers * n];
    const unsigned width = 1u << a.log_width, groups = reducers >> a.log_width;
    const unsigned lane = threadIdx.x & (width - 1), group = threadIdx.x >> a.log_width;
    const A neutral = reduction::neutral<A>(a.joint);
    const unsigned unit = blockIdx.x / a.tiles;
    const unsigned long long tile =
        static_cast<unsigned long long>(blockIdx.x - unit * a.tiles) * width * n;
    const Columns columns(a, n, sizeof(S), lane, width, tile);
    const Segment segment(a, unit);
    Running<A, n> running(neutral);
    if (columns.count && group < segment.count)
        reduce_columns_of<S, n>(a,
                                a.x + segment.at.first +
                                    static_cast<long long>(tile + columns.first) * a.column_x +
                                    (segment.begin + group) * a.row_step,
                                columns, segment.count - group, groups, running, neutral);
#pragma unroll
    for (int i = 0; i < n; ++i)
        parts[group * width * n + columns.first + i * columns.step] = running.outer[i];
    reduction::choose(a.joint, [&](auto chosen) {
#pragma unroll 1
        for (unsigned half = groups / 2; half > 0; half /= 2) {
            __syncthreads();
            if (group < half) {
#pragma unroll 1
                for (unsigned i = threadIdx.x * n; i < (threadIdx.x + 1) * n; ++i)
                    parts[i] = chosen.of(parts[i], parts[i + half * width * n]);
            }
        }
    });
    __syncthreads();
    for (unsigned i = threadIdx.x; i < width * n && tile + i < a.columns; i += reducers)
        finish<S>(a, unit * a.columns + tile + i,
                  segment.at.second + static_cast<long long>(tile + i) * a.column_step, parts[i]);
}

}  // namespace cupola::arrays
