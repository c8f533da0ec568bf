// csrc/kernels/array/predicate.cuh - operations whose results are truth values.
#pragma once

#include "types.cuh"

namespace cupola::arrays::predicate {

#define CUPOLA_COMPARISON(name, reals, complexes) \
    struct name {                                 \
        template <class T>                        \
        __device__ static bool of(T x, T y) {     \
            if constexpr (is_complex<T>)          \
                return complexes;                 \
            else                                  \
                return reals;                     \
        }                                         \
    };
CUPOLA_COMPARISON(equal, x == y, x.real == y.real && x.imag == y.imag)
CUPOLA_COMPARISON(not_equal, x != y, x.real != y.real || x.imag != y.imag)
// NumPy orders complex numbers by their real parts, then by their imaginary ones; with a NaN in
// either part there is no order.
CUPOLA_COMPARISON(less, x < y,
                  (x.real < y.real && x.imag == x.imag && y.imag == y.imag) ||
                      (x.real == y.real && x.imag < y.imag))
CUPOLA_COMPARISON(less_equal, x <= y,
                  (x.real < y.real && x.imag == x.imag && y.imag == y.imag) ||
                      (x.real == y.real && x.imag <= y.imag))
CUPOLA_COMPARISON(greater, x > y, less::of(y, x))
CUPOLA_COMPARISON(greater_equal, x >= y, less_equal::of(y, x))
CUPOLA_COMPARISON(logical_and, x != 0 && y != 0, truth(x) && truth(y))
CUPOLA_COMPARISON(logical_or, x != 0 || y != 0, truth(x) || truth(y))
CUPOLA_COMPARISON(logical_xor, (x != 0) != (y != 0), truth(x) != truth(y))
#undef CUPOLA_COMPARISON

#define CUPOLA_TEST(name, integers, reals, both)                   \
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
    };
CUPOLA_TEST(logical_not, x == 0, x == 0, &&)
CUPOLA_TEST(isnan, false, x != x, ||)
CUPOLA_TEST(isinf, false, fabs(x) == T(HUGE_VAL), ||)
CUPOLA_TEST(isfinite, true, fabs(x) < T(HUGE_VAL), &&)
CUPOLA_TEST(signbit, x < 0, ::signbit(x), ||)
#undef CUPOLA_TEST

// Chooses the operation that the whole launch is of, and calls `use` with its functor.
template <class T, class Use>
__device__ void choose(int operation, Use use) {
    using namespace operations::kinds;
    switch (operation) {
#define CUPOLA_ROW(name, kinds)                               \
    case operations::predicate::name:                         \
        if constexpr (((kinds)&kind_of<T>) != 0) use(name{}); \
        break;
        CUPOLA_PREDICATES(CUPOLA_ROW)
#undef CUPOLA_ROW
    }
}

}  // namespace cupola::arrays::predicate
