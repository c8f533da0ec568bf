// csrc/kernels/array/integers.cuh - what is done to integers alone: bits, quotients, powers.
#pragma once

#include "arithmetic.cuh"

namespace cupola::arrays::arithmetic {

struct bitwise_and {
    template <class T>
    __device__ static T of(T x, T y) {
        return x & y;
    }
    template <class>
    __device__ static u32 words(u32 x, u32 y) {
        return x & y;
    }
};
struct bitwise_or {
    template <class T>
    __device__ static T of(T x, T y) {
        return x | y;
    }
    template <class>
    __device__ static u32 words(u32 x, u32 y) {
        return x | y;
    }
};
struct bitwise_xor {
    template <class T>
    __device__ static T of(T x, T y) {
        return x ^ y;
    }
    template <class>
    __device__ static u32 words(u32 x, u32 y) {
        return x ^ y;
    }
};
struct invert {
    template <class T>
    __device__ static T of(T x, T) {
        return ~x;
    }
    template <class>
    __device__ static u32 words(u32 x, u32) {
        return ~x;
    }
};

// By as many bits as there are, and more, nothing is left but the sign. A narrow type's bits beyond
// its own are cut off as it is stored.
template <class T>
__device__ bool beyond(T bits) {
    return static_cast<unsigned_of<T>>(bits) >= sizeof(T) * 8;
}
struct left_shift {
    template <class T>
    __device__ static T of(T x, T y) {
        return beyond(y) ? 0 : static_cast<T>(unsigned_of<T>(x) << y);
    }
};
struct right_shift {
    template <class T>
    __device__ static T of(T x, T y) {
        return beyond(y) ? (below_zero(x) ? T(-1) : T(0)) : x >> y;
    }
};

// Division by zero gives zero; the least number by -1 wraps to itself.
struct fmod {
    template <class T>
    __device__ static T of(T x, T y) {
        if (y == 0) return 0;
        if constexpr (is_signed<T>)
            if (y == -1) return 0;
        return x % y;
    }
    template <class S>
    __device__ static u32 words(u32 x, u32 y) {
        return rests_of_quotients<S>(x, y);
    }
};
struct floor_divide {
    template <class T>
    __device__ static T of(T x, T y) {
        if (y == 0) return 0;
        if constexpr (is_signed<T>)
            if (y == -1) return negative::of(x, y);
        const T quotient = x / y;
        return quotient - (below_zero(x) != below_zero(y) && quotient * y != x);
    }
    template <class S>
    __device__ static u32 words(u32 x, u32 y) {
        return floors_of_quotients<S>(x, y);
    }
};
struct remainder {
    template <class T>
    __device__ static T of(T x, T y) {
        const T rest = fmod::of(x, y);
        return rest != 0 && below_zero(rest) != below_zero(y) ? rest + y : rest;
    }
    template <class S>
    __device__ static u32 words(u32 x, u32 y) {
        return rests_of_floors<S>(x, y);
    }
};

// x to the power of y, modulo 2^bits. The lowest `low` bits of y go by squares. What is left is a
// power of s = x^(2^low): of an even x it is 0, or 1; of an odd one s - 1 is a multiple of
// 2^(low + 2), so that of (1 + (s - 1))^rest few terms of the binomial series are not.
template <unsigned bits, class Exponent>
__device__ u32 wrapped_power(u32 x, Exponent y) {
    constexpr unsigned low = bits == 8 ? 3 : bits == 16 ? 4 : 8;
    constexpr unsigned terms = (bits - 1) / (low + 2);
    u32 result = y & 1 ? x : 1, s = x;
#pragma unroll
    for (unsigned bit = 1; bit < low; ++bit) {
        s *= s;
        if (y >> bit & 1) result *= s;
    }
    const u32 over = s * s - 1, rest = static_cast<u32>(y >> low);
    u32 factor = over * rest + 1;
    if constexpr (terms > 1) {
        const u32 pairs = rest * (rest - 1) >> 1;
        factor += over * over * pairs;
        if constexpr (terms > 2)  // 0xaaaaaaab is a third
            factor += over * over * over * (pairs * (rest - 2) * 0xaaaaaaabu);
    }
    if (!(x & 1)) factor = rest == 0;
    return result * factor;
}

// Wraps. Of a negative exponent, which NumPy refuses, what is left of the fraction.
struct power {
    template <class T>
    __device__ static T of(T x, T y) {
        if constexpr (sizeof(T) == sizeof(u32)) {
            return stored<T>(x, y);
        } else {
            if (below_zero(y)) {
                if (x == 1) return 1;
                return x == T(-1) ? (y & 1 ? T(-1) : T(1)) : T(0);
            }
            T result = 1;
            for (;;) {
                if (y & 1) result = multiply::of(result, x);
                y >>= 1;
                if (y == 0) return result;
                x = multiply::of(x, x);
            }
        }
    }
    template <class S, class T>
    __device__ static std::enable_if_t<sizeof(T) == sizeof(u32), T> stored(T x, T y) {
        const u32 wide = static_cast<u32>(x), result = wrapped_power<8 * sizeof(S)>(wide, y);
        const bool is_fraction = below_zero(y) && wide + 1 > 2;
        return static_cast<T>(is_fraction ? 0 : result);
    }
};

}  // namespace cupola::arrays::arithmetic
