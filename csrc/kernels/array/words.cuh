// csrc/kernels/array/words.cuh - operations on all narrow integers of a word.
#pragma once

#include "types.cuh"

namespace cupola::arrays::arithmetic {

// The highest bit of each integer of a word.
template <class S>
constexpr u32 tops = sizeof(S) == 1 ? 0x80808080u : 0x80008000u;
template <class S>
constexpr unsigned width = sizeof(S) * 8;

__device__ inline u32 choose_bits(u32 mask, u32 x, u32 y) { return (x & mask) | (y & ~mask); }

// 1 in each integer that is not 0, and 1 in each integer that is negative.
template <class S = u8>
__device__ u32 truths(u32 x) {
    return ((((x & ~tops<S>)+~tops<S>) | x) & tops<S>) >> (width<S> - 1);
}
template <class S>
__device__ u32 below_zero_in(u32 x) {
    return is_signed<S> ? (x & tops<S>) >> (width<S> - 1) : 0;
}

// All bits of each integer whose highest bit is set, and of each integer that is not 0.
template <class S = u8>
__device__ u32 below_zero_everywhere(u32 x) {
    u32 all;  // a selector of prmt can replicate a byte's sign
    asm("prmt.b32 %0, %1, 0, %2;" : "=r"(all) : "r"(x), "n"(sizeof(S) == 1 ? 0xba98 : 0xbb99));
    return all;
}
template <class S>
__device__ u32 filled_where_not_0(u32 x) {
    return below_zero_everywhere<S>(((x & ~tops<S>)+~tops<S>) | x);
}
// All bits of each integer that is neither 1 nor -1.
template <class S>
__device__ u32 filled_where_no_unit(u32 x) {
    constexpr u32 top = tops<S>, one = top >> (width<S> - 1);
    return filled_where_not_0<S>(x ^ (is_signed<S> ? below_zero_everywhere<S>(x) | one : one));
}

// Applies `halves`, which works on two 16-bit integers, to the narrow integers of a word. The
// result must depend only on the highest bits, because bytes become the upper parts of halves.
template <class S, class Halves>
__device__ u32 by_halves(u32 x, u32 y, Halves halves) {
    if constexpr (sizeof(S) == 2) return halves(x, y);
    return __byte_perm(halves(x << 8, y << 8), halves(x, y), 0x7351);
}

}  // namespace cupola::arrays::arithmetic
