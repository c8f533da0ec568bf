// csrc/cpu/exec/isa/vector.hpp - the compiler's vectors in place of lanes' values: what functions
// of a lane that take both are made of.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace cupola::cpu::CUPOLA_ISA {

template <class T, unsigned Bytes>
using VectorOf __attribute__((vector_size(Bytes))) = T;

// What a vector has in each lane, and of a value its own type.
template <class T, class = void>
struct EachOf {
    using type = T;
};
template <class V>
struct EachOf<V, std::void_t<decltype(std::declval<V&>()[0] = 0)>> {
    using type = std::remove_reference_t<decltype(std::declval<V&>()[0])>;
};
template <class T>
using Each = typename EachOf<T>::type;

// Integers in which arithmetic wraps; those narrower than int would turn signed on the way.
template <class T, class = void>
struct ModularOf {
    using type = VectorOf<std::make_unsigned_t<Each<T>>, sizeof(T)>;
};
template <class T>
struct ModularOf<T, std::enable_if_t<std::is_integral_v<T>>> {
    using type = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;
};
template <class T>
using Modular = typename ModularOf<T>::type;

// A function of a lane takes vectors where it says so: by a constant `vectors` of modifiers and
// type.
template <class Sem, class M, class T, class = void>
inline constexpr bool takes_vectors = false;
template <class Sem, class M, class T>
inline constexpr bool takes_vectors<Sem, M, T, std::void_t<decltype(Sem::template vectors<M, T>)>> =
    Sem::template vectors<M, T>;

// a * b + c, rounded once.
inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
#if defined(__FMA__)
inline constexpr bool vectors_fuse = true;
template <class V>
V fused(V a, V b, V c) {
    constexpr bool single = sizeof(Each<V>) == 4;
    if constexpr (sizeof(V) == 32 && single)
        return V(_mm256_fmadd_ps(__m256(a), __m256(b), __m256(c)));
    if constexpr (sizeof(V) == 32 && !single)
        return V(_mm256_fmadd_pd(__m256d(a), __m256d(b), __m256d(c)));
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64 && single)
        return V(_mm512_fmadd_ps(__m512(a), __m512(b), __m512(c)));
    if constexpr (sizeof(V) == 64 && !single)
        return V(_mm512_fmadd_pd(__m512d(a), __m512d(b), __m512d(c)));
#endif
}
#else
inline constexpr bool vectors_fuse = false;
#endif

}  // namespace cupola::cpu::CUPOLA_ISA
