// csrc/cpu/exec/isa/vector.hpp - the compiler's vectors in place of lanes' values: what functions
// of a lane that take both are made of.
#pragma once

#include "cpu/exec/isa/intrinsics.hpp"

namespace cupola::cpu::CUPOLA_ISA {

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

// Such a one whose operands are of 32 bits or 64, in whichever way, says so by `mixes`.
template <class Sem, class M, class = void>
inline constexpr bool mixes_widths = false;
template <class Sem, class M>
inline constexpr bool mixes_widths<Sem, M, std::void_t<decltype(Sem::template mixes<M>)>> =
    Sem::template mixes<M>;
template <class M>
inline constexpr bool both_wide = ptx::bytes_of(M::type) >= 4 &&
                                  (M::type2 == Type::none || ptx::bytes_of(M::type2) >= 4);

}  // namespace cupola::cpu::CUPOLA_ISA
