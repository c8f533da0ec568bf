// csrc/kernels/strided.cu - copies elements that are not adjacent in memory.
#include <cstdint>

#include "strided.h"
#include "threads.cuh"

using cupola::strided::Axes;

namespace {

// Divisions dominate the time, and those of 32 bits are several times faster. The loop is unrolled
// so that the first `count` axes are read from constant addresses.
template <class Unit, class Index>
__device__ void copy(char* to, const char* from, const Axes& axes, std::size_t units) {
    const Ranks ranks = launch_ranks();
    for (std::size_t i = ranks.first; i < units; i += ranks.stride) {
        Index rest = static_cast<Index>(i);
        long long there = 0, here = 0;
#pragma unroll
        for (int axis = cupola::strided::most_axes - 1; axis > 0; --axis) {
            if (axis < axes.count) {
                const Index length = static_cast<Index>(axes.length[axis]);
                const Index whole = rest / length;
                const long long at = static_cast<long long>(rest - whole * length);
                there += at * axes.to[axis];
                here += at * axes.from[axis];
                rest = whole;
            }
        }
        there += static_cast<long long>(rest) * axes.to[0];
        here += static_cast<long long>(rest) * axes.from[0];
        *reinterpret_cast<Unit*>(to + there) = *reinterpret_cast<const Unit*>(from + here);
    }
}

template <class Unit>
__device__ void copy(char* to, const char* from, const Axes& axes, std::size_t units) {
    if (units <= 0xffffffffu)
        copy<Unit, std::uint32_t>(to, from, axes, units);
    else
        copy<Unit, std::uint64_t>(to, from, axes, units);
}

}  // namespace

// Any launch works (threads.cuh). `units` is the product of the lengths. A unit has 1, 2, 4, 8 or
// 16 bytes and is aligned to its size.
extern "C" __global__ void copy_strided_1(char* to, const char* from, Axes axes,
                                          std::size_t units) {
    copy<std::uint8_t>(to, from, axes, units);
}
extern "C" __global__ void copy_strided_2(char* to, const char* from, Axes axes,
                                          std::size_t units) {
    copy<std::uint16_t>(to, from, axes, units);
}
extern "C" __global__ void copy_strided_4(char* to, const char* from, Axes axes,
                                          std::size_t units) {
    copy<std::uint32_t>(to, from, axes, units);
}
extern "C" __global__ void copy_strided_8(char* to, const char* from, Axes axes,
                                          std::size_t units) {
    copy<std::uint64_t>(to, from, axes, units);
}
extern "C" __global__ void copy_strided_16(char* to, const char* from, Axes axes,
                                           std::size_t units) {
    copy<uint4>(to, from, axes, units);
}
