// csrc/kernels/strided.cu - copies elements that are not adjacent in memory.
#include <cstdint>

#include "strided.h"
#include "threads.cuh"

using cupola::quotient;
using cupola::strided::Axes;
using cupola::strided::most_axes;

namespace {

// The offsets of a place along the axes from `begin` to `end`; of place 0 where there are none. The
// loop is unrolled so that axes are read from constant addresses.
struct Offsets {
    long long to = 0, from = 0;

    __device__ Offsets(const Axes& axes, int begin, int end, std::uint32_t place) {
#pragma unroll
        for (int i = 0; i < most_axes; ++i) {
            if (i < begin) continue;
            const auto& axis = axes.each[i];
            if (i + 1 >= end) {
                to += static_cast<long long>(place) * axis.to;
                from += static_cast<long long>(place) * axis.from;
                break;
            }
            const std::uint32_t whole = quotient(place, axis.length);
            const auto at = static_cast<long long>(place - whole * axis.length.by);
            to += at * axis.to;
            from += at * axis.from;
            place = whole;
        }
    }
};

template <class Unit>
__device__ void copy_units(char* to, const char* from, const Axes& axes) {
    const Ranks ranks = launch_ranks();
    for (std::size_t i = ranks.first; i < axes.units; i += ranks.stride) {
        const Offsets at(axes, 0, axes.count, static_cast<std::uint32_t>(i));
        *reinterpret_cast<Unit*>(to + at.to) = *reinterpret_cast<const Unit*>(from + at.from);
    }
}

template <class Unit>
struct alignas(cupola::strided::pack) Pack {
    static constexpr int lanes = cupola::strided::pack / sizeof(Unit);
    Unit at[lanes];
};

// The units of a run from `begin` on. Units in reverse order are loaded as one pack if they are
// aligned.
template <class Unit>
__device__ Pack<Unit> load_pack(const char* from, const Axes& axes, std::uint32_t begin) {
    using Packed = Pack<Unit>;
    const auto& inner = axes.each[0];
    std::uint32_t row = axes.run > 1 ? quotient(begin, inner.length) : 0;
    std::uint32_t place = begin - row * inner.length.by;
    const char* source = from + Offsets(axes, 1, axes.run, row).from;
    const char* lowest = source + (place + Packed::lanes - 1) * inner.from;
    Packed loaded;
    if (inner.from == -static_cast<long long>(sizeof(Unit)) &&
        place + Packed::lanes <= inner.length.by &&
        reinterpret_cast<std::uintptr_t>(lowest) % sizeof(Packed) == 0) {
        const Packed reversed = *reinterpret_cast<const Packed*>(lowest);
#pragma unroll
        for (int k = 0; k < Packed::lanes; ++k) loaded.at[k] = reversed.at[Packed::lanes - 1 - k];
        return loaded;
    }
#pragma unroll
    for (int k = 0; k < Packed::lanes; ++k) {
        loaded.at[k] = *reinterpret_cast<const Unit*>(source + place * inner.from);
        if (++place == inner.length.by && k + 1 < Packed::lanes) {
            place = 0;
            source = from + Offsets(axes, 1, axes.run, ++row).from;
        }
    }
    return loaded;
}

// A thread stores an aligned pack of a run. The first and the last pack of a run may have fewer
// units, which are copied one by one.
template <class Unit>
__device__ void copy_runs(char* to, const char* from, const Axes& axes) {
    using Packed = Pack<Unit>;
    constexpr int lanes = Packed::lanes;
    const Ranks ranks = launch_ranks();
    const std::size_t packs = std::size_t{axes.runs} * axes.packs.by;
    for (std::size_t i = ranks.first; i < packs; i += ranks.stride) {
        const auto task = static_cast<std::uint32_t>(i);
        const std::uint32_t run = quotient(task, axes.packs);
        const Offsets at(axes, axes.run, axes.count, run);
        char* const target = to + at.to;
        const char* const source = from + at.from;
        const auto skipped = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(target) %
                                                        sizeof(Packed) / sizeof(Unit));
        const std::uint32_t place = (task - run * axes.packs.by) * lanes;
        if (place >= skipped && place - skipped + lanes <= axes.run_units) {
            const std::uint32_t begin = place - skipped;
            *reinterpret_cast<Packed*>(target + begin * sizeof(Unit)) =
                load_pack<Unit>(source, axes, begin);
            continue;
        }
#pragma unroll 1
        for (int k = 0; k < lanes; ++k) {
            if (place + k < skipped || place + k - skipped >= axes.run_units) continue;
            const std::uint32_t one = place + k - skipped;
            *reinterpret_cast<Unit*>(target + one * sizeof(Unit)) =
                *reinterpret_cast<const Unit*>(source + Offsets(axes, 0, axes.run, one).from);
        }
    }
}

template <class Unit>
__device__ void copy(char* to, const char* from, const Axes& axes) {
    if constexpr (sizeof(Unit) < cupola::strided::pack)
        if (axes.run) return copy_runs<Unit>(to, from, axes);
    copy_units<Unit>(to, from, axes);
}

}  // namespace

// Any launch works (threads.cuh). A unit has 1, 2, 4, 8 or 16 bytes and is aligned to its size.
extern "C" __global__ void copy_strided_1(char* to, const char* from,
                                          const __grid_constant__ Axes axes) {
    copy<std::uint8_t>(to, from, axes);
}
extern "C" __global__ void copy_strided_2(char* to, const char* from,
                                          const __grid_constant__ Axes axes) {
    copy<std::uint16_t>(to, from, axes);
}
extern "C" __global__ void copy_strided_4(char* to, const char* from,
                                          const __grid_constant__ Axes axes) {
    copy<std::uint32_t>(to, from, axes);
}
extern "C" __global__ void copy_strided_8(char* to, const char* from,
                                          const __grid_constant__ Axes axes) {
    copy<uint2>(to, from, axes);
}
extern "C" __global__ void copy_strided_16(char* to, const char* from,
                                           const __grid_constant__ Axes axes) {
    copy<uint4>(to, from, axes);
}
