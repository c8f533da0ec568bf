// csrc/kernels/algorithms/sort_keys.cuh - the order of keys: numbers as unsigned integers.
#pragma once

#include <cstdint>

namespace cupola::algorithms {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

// How the bits of an element are ordered; one kernel sorts all types of a size.
// `encode` is a bijection to unsigned integers in the order of the numbers, with all NaN last.
struct KeyOrder {
    u64 sign;        // the sign bit of signed types
    u64 negative;    // all bits set for floats: negative floats are complemented
    u64 first;       // the number of negative NaN, which move behind the positive NaN
    u64 nan;         // the least code of a NaN; equal codes from here on
    u64 minus_zero;  // the code of -0.0, which equals the code of 0.0
    u64 zero;
    u64 inverse;  // all bits for descending order
};

template <class K>
__device__ K sign_mask(K x) {
    return static_cast<K>(-static_cast<K>(x >> (8 * sizeof(K) - 1)));
}

template <class K>
struct Keys {
    K sign, negative, first, nan, minus_zero, zero, inverse;

    __device__ explicit Keys(const KeyOrder& order)
        : sign(static_cast<K>(order.sign)),
          negative(static_cast<K>(order.negative)),
          first(static_cast<K>(order.first)),
          nan(static_cast<K>(order.nan)),
          minus_zero(static_cast<K>(order.minus_zero)),
          zero(static_cast<K>(order.zero)),
          inverse(static_cast<K>(order.inverse)) {}

    __device__ K encode(K bits) const {
        return static_cast<K>((bits ^ ((sign_mask(bits) & negative) | sign)) - first);
    }
    __device__ K decode(K code) const {
        const K x = static_cast<K>(code + first);
        return static_cast<K>(x ^ ((sign_mask(static_cast<K>(~x)) & negative) | sign));
    }
    // Equal for elements that compare equal.
    __device__ K rank(K code) const {
        K x = code == minus_zero ? zero : code;
        x = x >= nan ? static_cast<K>(~K(0)) : x;
        return static_cast<K>(x ^ inverse);
    }
    // A code that sorts behind all other codes.
    __device__ K last() const { return static_cast<K>(~inverse); }
};

// One digit of a key, for CUB's ranking.
template <class K>
struct DigitOf {
    const Keys<K>& keys;
    int shift;

    __device__ u32 Digit(K code) const { return static_cast<u32>(keys.rank(code) >> shift) & 255; }
};

}  // namespace cupola::algorithms
