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

// A unit of a run: its place along the innermost axis, and the address of that axis's first unit.
struct Place {
    const char* source;
    std::uint32_t at;

    __device__ Place(const char* from, const Axes& axes, std::uint32_t unit) : source(from) {
        const std::uint32_t row = axes.run > 1 ? quotient(unit, axes.each[0].length) : 0;
        at = unit - row * axes.each[0].length.by;
        source += row * axes.each[1].from;
    }
    __device__ const char* address(const Axes& axes) const {
        return source + at * axes.each[0].from;
    }
    __device__ void move_on(const Axes& axes) {
        if (++at < axes.each[0].length.by) return;
        at = 0;
        source += axes.each[1].from;
    }
};

// The units of a run from `begin` on. Units in reverse order are loaded as one pack if they are
// aligned.
template <class Unit>
__device__ Pack<Unit> load_pack(const char* from, const Axes& axes, std::uint32_t begin) {
    using Packed = Pack<Unit>;
    constexpr int lanes = Packed::lanes;
    const auto& inner = axes.each[0];
    Place place(from, axes, begin);
    const char* lowest = place.address(axes) + (lanes - 1) * inner.from;
    Packed loaded;
    if (inner.from == -static_cast<long long>(sizeof(Unit)) &&
        place.at + lanes <= inner.length.by &&
        reinterpret_cast<std::uintptr_t>(lowest) % sizeof(Packed) == 0) {
        const Packed reversed = *reinterpret_cast<const Packed*>(lowest);
#pragma unroll
        for (int k = 0; k < lanes; ++k) loaded.at[k] = reversed.at[lanes - 1 - k];
        return loaded;
    }
#pragma unroll
    for (int k = 0; k < lanes; ++k) {
        loaded.at[k] = *reinterpret_cast<const Unit*>(place.address(axes));
        if (k + 1 < lanes) place.move_on(axes);
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
                *reinterpret_cast<const Unit*>(Place(source, axes, one).address(axes));
        }
    }
}

}  // namespace

// Any launch works (threads.cuh). A unit has 1, 2, 4, 8 or 16 bytes and is aligned to its size. The
// CPU device vectorises copies of single units better in kernels of their own.
#define CUPOLA_UNITS(bytes, Unit)                                                        \
    extern "C" __global__ void copy_strided_##bytes(char* to, const char* from,          \
                                                    const __grid_constant__ Axes axes) { \
        copy_units<Unit>(to, from, axes);                                                \
    }
#define CUPOLA_RUNS(bytes, Unit)                                                      \
    extern "C" __global__ void copy_runs_##bytes(char* to, const char* from,          \
                                                 const __grid_constant__ Axes axes) { \
        copy_runs<Unit>(to, from, axes);                                              \
    }
CUPOLA_UNITS(1, std::uint8_t)
CUPOLA_UNITS(2, std::uint16_t)
CUPOLA_UNITS(4, std::uint32_t)
CUPOLA_UNITS(8, uint2)
CUPOLA_UNITS(16, uint4)
CUPOLA_RUNS(1, std::uint8_t)
CUPOLA_RUNS(2, std::uint16_t)
CUPOLA_RUNS(4, std::uint32_t)
CUPOLA_RUNS(8, uint2)
