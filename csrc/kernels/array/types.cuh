// csrc/kernels/array/types.cuh - element types on a device: storage types and computation types.
#pragma once

#include <cstdint>
#include <type_traits>

#include "elements.h"
#include "operations.h"

namespace cupola::arrays {

// Two reals, aligned for one access.
template <class T>
struct alignas(2 * sizeof(T)) Complex {
    T real, imag;
};

using i32 = std::int32_t;
using i64 = std::int64_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using f32 = float;
using f64 = double;
using c64 = Complex<float>;
using c128 = Complex<double>;

// Storage types, which are never computation types.
using i8 = std::int8_t;
using i16 = std::int16_t;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
struct b8 {
    std::uint8_t bits;
};
struct f16 {
    std::uint16_t bits;
};

template <class T>
constexpr bool is_complex = false;
template <class T>
constexpr bool is_complex<Complex<T>> = true;
template <class T>
constexpr bool is_real = false;
template <>
constexpr bool is_real<f32> = true;
template <>
constexpr bool is_real<f64> = true;
template <class T>
constexpr bool is_signed = T(-1) < T(0);

template <class T>
constexpr int kind_of = is_complex<T> ? operations::kinds::complexes
                        : is_real<T>  ? operations::kinds::reals
                                      : operations::kinds::integers;
template <>
constexpr int kind_of<b8> = operations::kinds::booleans;
template <>
constexpr int kind_of<f16> = operations::kinds::reals;

template <class T>
struct RealOf {
    using type = T;
};
template <class T>
struct RealOf<Complex<T>> {
    using type = T;
};
template <class T>
using real_of = typename RealOf<T>::type;

template <class T>
struct Unsigned {
    using type = T;
};
template <>
struct Unsigned<i32> {
    using type = u32;
};
template <>
struct Unsigned<i64> {
    using type = u64;
};
template <class T>
using unsigned_of = typename Unsigned<T>::type;

// The computation type and the code of a storage type.
template <class S>
struct Stored;
#define CUPOLA_ROW(name, number, computed_type)              \
    template <>                                              \
    struct Stored<name> {                                    \
        using computed = computed_type;                      \
        static constexpr int code = elements::Element::name; \
    };
CUPOLA_ELEMENTS(CUPOLA_ROW)
#undef CUPOLA_ROW
template <class S>
using computed = typename Stored<S>::computed;

__device__ inline f32 widen(f16 x) {
    f32 wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
    return wide;
}

// Converts a storage type to any computation type, as NumPy casts. A complex number becomes its
// real part.
template <class C, class S>
__device__ C convert(S x) {
    if constexpr (is_complex<C> && is_complex<S>) {
        using R = real_of<C>;
        return {static_cast<R>(x.real), static_cast<R>(x.imag)};
    } else if constexpr (is_complex<C>) {
        return {convert<real_of<C>>(x), 0};
    } else if constexpr (is_complex<S>) {
        return convert<C>(x.real);
    } else {
        return static_cast<C>(x);
    }
}
template <class C>
__device__ C convert(b8 x) {
    return convert<C>(static_cast<i32>(x.bits != 0));
}
template <class C>
__device__ C convert(f16 x) {
    return convert<C>(widen(x));
}

template <class T>
__device__ bool truth(T x) {
    if constexpr (is_complex<T>)
        return x.real != 0 || x.imag != 0;
    else
        return x != 0;
}

// Converts a computation type to a storage type.
template <class S, class C>
__device__ S store(C x) {
    if constexpr (std::is_same_v<S, b8>) {
        return {static_cast<std::uint8_t>(truth(x))};
    } else if constexpr (!std::is_same_v<S, f16>) {
        return convert<S>(x);
    } else if constexpr (std::is_same_v<C, f64>) {  // rounds once
        f16 narrow;
        asm("cvt.rn.f16.f64 %0, %1;" : "=h"(narrow.bits) : "d"(x));
        return narrow;
    } else {
        f16 narrow;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(convert<f32>(x)));
        return narrow;
    }
}

template <class T>
__device__ T scalar_of(const unsigned long long (&bits)[2]) {
    if constexpr (sizeof(T) == 16) {
        return {__longlong_as_double(static_cast<long long>(bits[0])),
                __longlong_as_double(static_cast<long long>(bits[1]))};
    } else if constexpr (sizeof(T) == 8 && is_complex<T>) {
        return {__uint_as_float(static_cast<unsigned>(bits[0])),
                __uint_as_float(static_cast<unsigned>(bits[0] >> 32))};
    } else if constexpr (is_real<T> && sizeof(T) == 8) {
        return __longlong_as_double(static_cast<long long>(bits[0]));
    } else if constexpr (is_real<T>) {
        return __uint_as_float(static_cast<unsigned>(bits[0]));
    } else {
        return static_cast<T>(bits[0]);
    }
}

}  // namespace cupola::arrays
