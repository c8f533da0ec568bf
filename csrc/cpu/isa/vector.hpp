// csrc/cpu/isa/vector.hpp - helpers for lane functions that also take compiler vectors.
#pragma once

#include "cpu/isa/intrinsics.hpp"

namespace cupola::cpu::CUPOLA_ISA {

// Unsigned integers, so that arithmetic wraps. Types below int become 32 bits, as promotion would
// make them signed.
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

// N narrow floats of type T, as their bits.
template <class T, unsigned N>
struct ShortVector {
    VectorOf<std::uint16_t, 2 * N> bits;
};

// A lane function takes vectors if its constant `vectors` of modifiers and type is true.
template <class Sem, class M, class T, class = void>
inline constexpr bool takes_vectors = false;
template <class Sem, class M, class T>
inline constexpr bool takes_vectors<Sem, M, T, std::void_t<decltype(Sem::template vectors<M, T>)>> =
    Sem::template vectors<M, T>;

// The function takes vectors of operands of any widths if its constant `mixes` is true.
template <class Sem, class M, class = void>
inline constexpr bool mixes_widths = false;
template <class Sem, class M>
inline constexpr bool mixes_widths<Sem, M, std::void_t<decltype(Sem::template mixes<M>)>> =
    Sem::template mixes<M>;

}  // namespace cupola::cpu::CUPOLA_ISA
