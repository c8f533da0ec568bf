// csrc/kernels/array/predicate.cuh - operations whose results are truth values.
#pragma once

#include "arithmetic.cuh"

namespace cupola::arrays::predicate {

using arithmetic::maximum, arithmetic::tops, arithmetic::truths;

constexpr u32 all_true = 0x01010101u;

// `words` is only for bytes, because their truth values have the same width; m is the larger one.
#define CUPOLA_COMPARISON(name, reals, complexes, bytes)            \
    struct name {                                                   \
        template <class T>                                          \
        __device__ static bool of(T x, T y) {                       \
            if constexpr (is_complex<T>)                            \
                return complexes;                                   \
            else                                                    \
                return reals;                                       \
        }                                                           \
        template <class S>                                          \
        __device__ static u32 words(u32 x, u32 y) {                 \
            [[maybe_unused]] const u32 m = maximum::words<S>(x, y); \
            return bytes;                                           \
        }                                                           \
    };
CUPOLA_COMPARISON(equal, x == y, x.real == y.real && x.imag == y.imag, all_true ^ truths(x ^ y))
CUPOLA_COMPARISON(not_equal, x != y, x.real != y.real || x.imag != y.imag, truths(x ^ y))
// NumPy orders complex numbers by real part, then by imaginary part; with a NaN there is no order.
CUPOLA_COMPARISON(less, x < y,
                  (x.real < y.real && x.imag == x.imag && y.imag == y.imag) ||
                      (x.real == y.real && x.imag < y.imag),
                  truths(m ^ x))
CUPOLA_COMPARISON(less_equal, x <= y,
                  (x.real < y.real && x.imag == x.imag && y.imag == y.imag) ||
                      (x.real == y.real && x.imag <= y.imag),
                  all_true ^ truths(m ^ y))
CUPOLA_COMPARISON(greater, x > y, less::of(y, x), truths(m ^ y))
CUPOLA_COMPARISON(greater_equal, x >= y, less_equal::of(y, x), all_true ^ truths(m ^ x))
CUPOLA_COMPARISON(logical_and, x != 0 && y != 0, truth(x) && truth(y), truths(x) & truths(y))
CUPOLA_COMPARISON(logical_or, x != 0 || y != 0, truth(x) || truth(y), truths(x | y))
CUPOLA_COMPARISON(logical_xor, (x != 0) != (y != 0), truth(x) != truth(y), truths(x) ^ truths(y))
#undef CUPOLA_COMPARISON

#define CUPOLA_TEST(name, integers, reals, both, bytes)            \
    struct name {                                                  \
        template <class T>                                         \
        __device__ static bool of(T x, T) {                        \
            if constexpr (is_complex<T>)                           \
                return of(x.real, x.real) both of(x.imag, x.imag); \
            else if constexpr (is_real<T>)                         \
                return reals;                                      \
            else                                                   \
                return integers;                                   \
        }                                                          \
        template <class S>                                         \
        __device__ static u32 words(u32 x, u32) {                  \
            return bytes;                                          \
        }                                                          \
    };
CUPOLA_TEST(positive, x != 0, false, &&, truths(x))
CUPOLA_TEST(logical_not, x == 0, x == 0, &&, all_true ^ truths(x))
CUPOLA_TEST(isnan, false, x != x, ||, 0)
CUPOLA_TEST(isinf, false, fabs(x) == T(HUGE_VAL), ||, 0)
CUPOLA_TEST(isfinite, true, fabs(x) < T(HUGE_VAL), &&, all_true)
CUPOLA_TEST(signbit, x < 0, ::signbit(x), ||, is_signed<S> ? (x& tops<S>) >> 7 : 0)
#undef CUPOLA_TEST

// Only for truth values; bytes other than 0 and 1 are true.
template <class Operation>
constexpr bool reads_any_byte =
    std::is_same_v<Operation, positive> || std::is_same_v<Operation, logical_not> ||
    std::is_same_v<Operation, logical_and> || std::is_same_v<Operation, logical_or> ||
    std::is_same_v<Operation, logical_xor>;

}  // namespace cupola::arrays::predicate
