// csrc/cpu/isa/intrinsics.hpp - intrinsics of the host's processor, the only use of them.
//
// Used where the compiler would emit more than one instruction for a loop or a vector expression.
// Builtins by name: <immintrin.h> takes as long to compile as a small kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace cupola::cpu::CUPOLA_ISA {

template <class T, unsigned Bytes>
using VectorOf __attribute__((vector_size(Bytes))) = T;

// The element type of a vector; for a scalar its own type.
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

#if defined(__AVX512F__)
// The bits of a mask register, one a lane. GCC 12 and 13 fuse a comparison with the widening of its
// mask. If that value is spilled, they store 16 bits and reload 32. This hides the mask's origin
// from them.
template <class Bits, class Mask>
[[gnu::always_inline]] inline std::uint32_t widened(Mask made) {
    auto mask = static_cast<Bits>(made);
#if !defined(__clang__)
    __asm__("" : "+k"(mask));
#endif
    return mask;
}
#endif

// Each lane's sign as a bit, for lanes of 16, 32 or 64 bits that are 0 or -1.
template <class V>
[[gnu::always_inline]] inline std::uint32_t signs(V v) {
    constexpr std::size_t each = sizeof(Each<V>);
#if defined(__AVX512DQ__)
    if constexpr (sizeof(V) == 64 && each == 8)
        return widened<std::uint8_t>(__builtin_ia32_cvtq2mask512(VectorOf<long long, 64>(v)));
    else if constexpr (sizeof(V) == 64 && each == 4)
        return widened<std::uint16_t>(__builtin_ia32_cvtd2mask512(VectorOf<int, 64>(v)));
#endif
#if defined(__AVX512BW__)
    if constexpr (sizeof(V) == 64 && each == 2)
        return widened<std::uint32_t>(__builtin_ia32_cvtw2mask512(VectorOf<short, 64>(v)));
#endif
#if defined(__AVX2__)
    // The instruction packs each half of the vector by itself.
    if constexpr (sizeof(V) == 32 && each == 2) {
        using Short = VectorOf<short, 32>;
        const auto packed = __builtin_ia32_packsswb256(Short(v), Short{});
        const auto bits =
            static_cast<std::uint32_t>(__builtin_ia32_pmovmskb256(VectorOf<char, 32>(packed)));
        return (bits & 0xff) | (bits >> 8 & 0xff00);
    }
#endif
#if defined(__AVX__)
    if constexpr (sizeof(V) == 32 && each == 8)
        return static_cast<std::uint32_t>(__builtin_ia32_movmskpd256(VectorOf<double, 32>(v)));
    else if constexpr (sizeof(V) == 32 && each == 4)
        return static_cast<std::uint32_t>(__builtin_ia32_movmskps256(VectorOf<float, 32>(v)));
#endif
#if defined(__SSE2__)
    if constexpr (sizeof(V) == 16 && each == 8)
        return static_cast<std::uint32_t>(__builtin_ia32_movmskpd(VectorOf<double, 16>(v)));
    else if constexpr (sizeof(V) == 16 && each == 4)
        return static_cast<std::uint32_t>(__builtin_ia32_movmskps(VectorOf<float, 16>(v)));
    if constexpr (sizeof(V) == 16 && each == 2) {
        using Short = VectorOf<short, 16>;
        const auto packed = __builtin_ia32_packsswb128(Short(v), Short{});
        return static_cast<std::uint32_t>(__builtin_ia32_pmovmskb128(VectorOf<char, 16>(packed)));
    }
#endif
    std::uint32_t bits = 0;
    for (unsigned i = 0; i < sizeof(V) / each; ++i)
        bits |= static_cast<std::uint32_t>(v[i] & 1) << i;
    return bits;
}

#if defined(__AVX2__)
// The signs of two vectors of 16-bit lanes.
[[gnu::always_inline]] inline std::uint32_t signs(VectorOf<short, 32> a, VectorOf<short, 32> b) {
    using Words = VectorOf<long long, 32>;
    // The instruction packs each half of the vectors by itself.
    const auto packed = Words(__builtin_ia32_packsswb256(a, b));
    const auto bytes = VectorOf<char, 32>(Words{packed[0], packed[2], packed[1], packed[3]});
    return static_cast<std::uint32_t>(__builtin_ia32_pmovmskb256(bytes));
}
#endif

template <class V>
[[gnu::always_inline]] inline bool is_zero(V v) {
    using Words = VectorOf<long long, sizeof(V)>;
#if defined(__AVX512DQ__)
    if constexpr (sizeof(V) == 64) {
#if defined(__clang__)
        return __builtin_ia32_cvtq2mask512(Words(v) != 0) == 0;
#else
        return __builtin_ia32_ptestmq512(Words(v), Words(v), 0xff) == 0;
#endif
    }
#endif
#if defined(__AVX__)
    if constexpr (sizeof(V) == 32) return __builtin_ia32_ptestz256(Words(v), Words(v)) != 0;
#endif
#if defined(__SSE4_1__)
    if constexpr (sizeof(V) == 16) return __builtin_ia32_ptestz128(Words(v), Words(v)) != 0;
#endif
    const auto words = Words(v);
    long long any = 0;
    for (unsigned i = 0; i < sizeof(V) / 8; ++i) any |= words[i];
    return any == 0;
}

// Part K of a vector, of `Bytes` bytes.
template <unsigned K, unsigned Bytes, class V>
[[gnu::always_inline]] inline VectorOf<Each<V>, Bytes> part_of(V whole) {
    VectorOf<Each<V>, Bytes> part;
#if !defined(__clang__) && defined(__SSE2__)
    if constexpr (Bytes < 16 && sizeof(V) >= 16) {  // without this, GCC would extract each lane
        constexpr unsigned shift = 8 * (K * Bytes % 16);
        auto words = VectorOf<long long, 16>(part_of<K * Bytes / 16, 16>(whole));
        if constexpr (shift != 0) words = __builtin_ia32_psrldqi128(words, shift);
        __builtin_memcpy(&part, &words, sizeof part);
        return part;
    }
#endif
    __builtin_memcpy(&part, reinterpret_cast<const char*>(&whole) + K * Bytes, Bytes);
    return part;
}

// A vector of at least 16 bytes that begins with this one. A copy to a part of a variable would
// pass through memory.
template <class T, class V>
[[gnu::always_inline]] inline auto as_low_part(V v) {
    if constexpr (sizeof v >= 16) {
        return VectorOf<T, sizeof v>(v);
    } else {
        std::conditional_t<sizeof v == 8, long long, int> word;
        static_assert(sizeof word == sizeof v);
        __builtin_memcpy(&word, &v, sizeof v);
        return VectorOf<T, 16>(VectorOf<decltype(word), 16>{word});
    }
}

// Extends 8-bit or 16-bit lanes to a vector of the processor. GCC would extract each lane of a part
// of a vector, and convert it.
template <class D, class S>
[[gnu::always_inline]] inline D extended(S a) {
#if !defined(__clang__) && defined(__SSE4_1__)
#define CUPOLA_EXTEND(to, from, name, ...)                                            \
    if constexpr (sizeof(Each<D>) == (to) && sizeof(Each<S>) == (from))               \
        return D(std::is_signed_v<Each<S>> ? __builtin_ia32_pmovsx##name(__VA_ARGS__) \
                                           : __builtin_ia32_pmovzx##name(__VA_ARGS__));
    if constexpr (sizeof(D) >= 16) {
        const auto low = as_low_part<char>(a);
        using Shorts = VectorOf<short, sizeof low>;
        if constexpr (sizeof(D) == 16) {
            CUPOLA_EXTEND(2, 1, bw128, low)
            CUPOLA_EXTEND(4, 1, bd128, low)
            CUPOLA_EXTEND(4, 2, wd128, Shorts(low))
        }
#if defined(__AVX2__)
        if constexpr (sizeof(D) == 32) {
            CUPOLA_EXTEND(2, 1, bw256, low)
            CUPOLA_EXTEND(4, 1, bd256, low)
            CUPOLA_EXTEND(4, 2, wd256, Shorts(low))
        }
#endif
#if defined(__AVX512BW__)
        if constexpr (sizeof(D) == 64) {
            CUPOLA_EXTEND(2, 1, bw512_mask, low, VectorOf<short, 64>{}, 0xffffffffu)
            CUPOLA_EXTEND(4, 1, bd512_mask, low, VectorOf<int, 64>{}, 0xffff)
            CUPOLA_EXTEND(4, 2, wd512_mask, Shorts(low), VectorOf<int, 64>{}, 0xffff)
        }
#endif
    }
#undef CUPOLA_EXTEND
#endif
    return __builtin_convertvector(a, D);
}

// Converts a value, or each lane of a vector.
template <class D, class S>
[[gnu::always_inline]] inline D converted(S a) {
    using To = Each<D>;
    using From = Each<S>;
    constexpr unsigned size = sizeof(S), count = size / sizeof(From);
    constexpr bool narrow = std::is_integral_v<From> && sizeof(From) < 4;
    if constexpr (std::is_same_v<From, S>)
        return static_cast<D>(a);
    else if constexpr (narrow && (std::is_floating_point_v<To> || sizeof(To) == 8))
        return converted<D>(converted<VectorOf<std::int32_t, 4 * count>>(a));
    else if constexpr (narrow && sizeof(To) > sizeof(From))
        return extended<D>(a);
    else if constexpr (std::is_integral_v<To> && 2 * sizeof(To) < sizeof(From))
        // Converts in two steps, because GCC would convert one wide step lane by lane.
        return converted<D>(__builtin_convertvector(
            a, VectorOf<std::conditional_t<sizeof(From) == 8, std::uint32_t, std::uint16_t>,
                        size / 2>));
    else
        return __builtin_convertvector(a, D);
}

#if defined(__F16C__)
// Conversions between the bits of f16 and f32, which round to nearest.
inline constexpr bool converts_halves = true;
template <class F>
[[gnu::always_inline]] inline F floats_of_halves(VectorOf<std::uint16_t, sizeof(F) / 2> bits) {
    const auto halves = VectorOf<short, sizeof(F) / 2>(bits);
#if defined(__AVX512F__)
    constexpr int as_set = 4;
    if constexpr (sizeof(F) == 64)
        return __builtin_ia32_vcvtph2ps512_mask(halves, F{}, static_cast<std::uint16_t>(-1),
                                                as_set);
#endif
    if constexpr (sizeof(F) == 32) return __builtin_ia32_vcvtph2ps256(halves);
}
template <class F>
[[gnu::always_inline]] inline auto halves_of_floats(F x) {
    using Bits = VectorOf<std::uint16_t, sizeof(F) / 2>;
    constexpr int to_nearest = 0;
#if defined(__AVX512F__)
    if constexpr (sizeof(F) == 64)
        return Bits(__builtin_ia32_vcvtps2ph512_mask(x, to_nearest, VectorOf<short, 32>{},
                                                     static_cast<std::uint16_t>(-1)));
    else
#endif
        return Bits(__builtin_ia32_vcvtps2ph256(x, to_nearest));
}
#else
inline constexpr bool converts_halves = false;
template <class F>
F floats_of_halves(VectorOf<std::uint16_t, sizeof(F) / 2> bits);
template <class F>
VectorOf<std::uint16_t, sizeof(F) / 2> halves_of_floats(F x);
#endif

// Concatenates two vectors.
template <class T, unsigned Bytes, std::size_t... I>
[[gnu::always_inline]] inline VectorOf<T, 2 * Bytes> joined(VectorOf<T, Bytes> a,
                                                            VectorOf<T, Bytes> b,
                                                            std::index_sequence<I...>) {
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
    return __builtin_shufflevector(a, b, static_cast<int>(I)...);
#endif
#endif
    return VectorOf<T, 2 * Bytes>{
        (I < sizeof...(I) / 2 ? a[I % (sizeof...(I) / 2)] : b[I % (sizeof...(I) / 2)])...};
}

// One bit for each lane, in place of a vector of 0 and -1.
struct MaskBits {
    std::uint32_t of;
};

// Selects lanes of two vectors, by one bit each.
#if defined(__AVX512F__)
template <class T, unsigned Bytes>
inline constexpr bool blends_by_bits = Bytes == 64 &&
                                       (sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8);
template <class V>
[[gnu::always_inline]] inline V blend(std::uint32_t bits, V yes, V no) {
    using Short = VectorOf<short, 64>;
    using Int = VectorOf<int, 64>;
    using Long = VectorOf<long long, 64>;
    const auto few = static_cast<std::uint8_t>(bits);
    const auto many = static_cast<std::uint16_t>(bits);
#if defined(__clang__)
    if constexpr (sizeof(Each<V>) == 2)
        return V(__builtin_ia32_selectw_512(bits, Short(yes), Short(no)));
    else if constexpr (sizeof(Each<V>) == 4)
        return V(__builtin_ia32_selectd_512(many, Int(yes), Int(no)));
    else
        return V(__builtin_ia32_selectq_512(few, Long(yes), Long(no)));
#else
    if constexpr (sizeof(Each<V>) == 2)
        return V(__builtin_ia32_movdquhi512_mask(Short(yes), Short(no), bits));
    else if constexpr (sizeof(Each<V>) == 4)
        return V(__builtin_ia32_movdqa32_512_mask(Int(yes), Int(no), many));
    else
        return V(__builtin_ia32_movdqa64_512_mask(Long(yes), Long(no), few));
#endif
}
// A bit for each lane where the comparison holds; `How` is the instruction's predicate immediate.
template <int How, class V>
[[gnu::always_inline]] inline std::uint32_t bits_where(V a, V b) {
    using T = Each<V>;
    using Short = VectorOf<short, 64>;
    using Int = VectorOf<int, 64>;
    using Long = VectorOf<long long, 64>;
    constexpr int as_set = 4;
    if constexpr (std::is_same_v<T, float>)
        return widened<std::uint16_t>(
            __builtin_ia32_cmpps512_mask(a, b, How, static_cast<std::uint16_t>(-1), as_set));
    else if constexpr (std::is_same_v<T, double>)
        return widened<std::uint8_t>(
            __builtin_ia32_cmppd512_mask(a, b, How, static_cast<std::uint8_t>(-1), as_set));
    else if constexpr (sizeof(T) == 2 && std::is_signed_v<T>)
        return widened<std::uint32_t>(
            __builtin_ia32_cmpw512_mask(Short(a), Short(b), How, ~std::uint32_t{0}));
    else if constexpr (sizeof(T) == 2)
        return widened<std::uint32_t>(
            __builtin_ia32_ucmpw512_mask(Short(a), Short(b), How, ~std::uint32_t{0}));
    else if constexpr (sizeof(T) == 4 && std::is_signed_v<T>)
        return widened<std::uint16_t>(
            __builtin_ia32_cmpd512_mask(Int(a), Int(b), How, static_cast<std::uint16_t>(-1)));
    else if constexpr (sizeof(T) == 4)
        return widened<std::uint16_t>(
            __builtin_ia32_ucmpd512_mask(Int(a), Int(b), How, static_cast<std::uint16_t>(-1)));
    else if constexpr (std::is_signed_v<T>)
        return widened<std::uint8_t>(
            __builtin_ia32_cmpq512_mask(Long(a), Long(b), How, static_cast<std::uint8_t>(-1)));
    else
        return widened<std::uint8_t>(
            __builtin_ia32_ucmpq512_mask(Long(a), Long(b), How, static_cast<std::uint8_t>(-1)));
}
#else
template <class T, unsigned Bytes>
inline constexpr bool blends_by_bits = false;
template <int How, class V>
std::uint32_t bits_where(V a, V b);
#endif

// a * b + c, rounded once.
inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
#if defined(__FMA__)
inline constexpr bool vectors_fuse = true;
template <class V>
V fused(V a, V b, V c) {
#if defined(__clang__)
#if __has_builtin(__builtin_elementwise_fma)
    return __builtin_elementwise_fma(a, b, c);
#endif
#endif
#if defined(__AVX512F__)
    constexpr int as_set = 4;  // rounding by the current mode
    if constexpr (sizeof(V) == 64 && sizeof(Each<V>) == 4)
        return V(__builtin_ia32_vfmaddps512_mask(a, b, c, 0xffff, as_set));
    if constexpr (sizeof(V) == 64 && sizeof(Each<V>) == 8)
        return V(__builtin_ia32_vfmaddpd512_mask(a, b, c, 0xff, as_set));
#endif
    if constexpr (sizeof(V) == 32 && sizeof(Each<V>) == 4)
        return V(__builtin_ia32_vfmaddps256(a, b, c));
    if constexpr (sizeof(V) == 32 && sizeof(Each<V>) == 8)
        return V(__builtin_ia32_vfmaddpd256(a, b, c));
}
#else
inline constexpr bool vectors_fuse = false;
#endif

}  // namespace cupola::cpu::CUPOLA_ISA
