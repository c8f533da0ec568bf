// csrc/kernels/array/integers.cuh - operations of integers only: bits, shifts, quotients, powers.
#pragma once

#include "arithmetic.cuh"
#include "powers.cuh"

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

// A shift by at least the width leaves only the sign, as PTX's shifts do for 32 bits of y. A store
// cuts off the upper bits of a narrow type.
template <class T>
__device__ u32 bits_of_shift(T y) {
    if constexpr (sizeof(T) == sizeof(u32))
        return static_cast<u32>(y);
    else
        return static_cast<unsigned_of<T>>(y) >> 32 ? ~0u : static_cast<u32>(y);
}
#define CUPOLA_SHIFT(name, type, instruction, constraint)                                     \
    __device__ inline type name(type x, u32 bits) {                                           \
        type shifted;                                                                         \
        asm(instruction " %0, %1, %2;" : "=" constraint(shifted) : constraint(x), "r"(bits)); \
        return shifted;                                                                       \
    }
CUPOLA_SHIFT(shifted_left, i32, "shl.b32", "r")
CUPOLA_SHIFT(shifted_left, u32, "shl.b32", "r")
CUPOLA_SHIFT(shifted_left, i64, "shl.b64", "l")
CUPOLA_SHIFT(shifted_left, u64, "shl.b64", "l")
CUPOLA_SHIFT(shifted_right, i32, "shr.s32", "r")
CUPOLA_SHIFT(shifted_right, u32, "shr.u32", "r")
CUPOLA_SHIFT(shifted_right, i64, "shr.s64", "l")
CUPOLA_SHIFT(shifted_right, u64, "shr.u64", "l")
#undef CUPOLA_SHIFT
struct left_shift {
    template <class T>
    __device__ static T of(T x, T y) {
        return shifted_left(x, bits_of_shift(y));
    }
};
struct right_shift {
    template <class T>
    __device__ static T of(T x, T y) {
        return shifted_right(x, bits_of_shift(y));
    }
};

// Division by zero gives zero; the smallest integer divided by -1 wraps to itself.
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

// Wraps. For a negative exponent, which NumPy rejects, the fraction is truncated.
struct power {
    template <class T>
    __device__ static T of(T x, T y) {
        using Wide = unsigned_of<T>;
        const Wide wide = static_cast<Wide>(x);
        if (below_zero(y) && wide + 1 > 2) return 0;
        return static_cast<T>(wrapped_power<Wide>(wide, static_cast<Wide>(y)));
    }
    template <class S>
    __device__ static u32 words(u32 x, u32 y) {
        if (is_signed<S>) x &= ~(below_zero_everywhere<S>(y) & filled_where_no_unit<S>(x));
        return wrapped_powers<S>(x, y);
    }
};

}  // namespace cupola::arrays::arithmetic
