// csrc/cpu/isa/compare.hpp - comparison and selection.
#pragma once

#include "cpu/isa/real.hpp"

namespace cupola::cpu::CUPOLA_ISA {

// For vectors: a vector of 0 or -1 in each lane.
template <ptx::Compare C, class T>
auto compared(T a, T b) -> decltype(a == b) {
    using Op = ptx::Compare;
    const decltype(a == b) ordered = (a == a) & (b == b);
    switch (C) {
        case Op::eq:
            return a == b;
        case Op::ne:
            return ordered & (a != b);
        case Op::lt:
        case Op::lo:
            return a < b;
        case Op::le:
        case Op::ls:
            return a <= b;
        case Op::gt:
        case Op::hi:
            return a > b;
        case Op::ge:
        case Op::hs:
            return a >= b;
        case Op::equ:
            return !ordered | (a == b);
        case Op::neu:
            return a != b;
        case Op::ltu:
            return !(a >= b);
        case Op::leu:
            return !(a > b);
        case Op::gtu:
            return !(a <= b);
        case Op::geu:
            return !(a < b);
        case Op::num:
            return ordered;
        case Op::nan:
            break;
    }
    return !ordered;
}

// The predicate immediate of a vector comparison instruction: for integers, and for floats without
// exceptions for quiet NaN.
template <ptx::Compare C, class T>
constexpr int relation() {
    using Op = ptx::Compare;
    constexpr bool whole = std::is_integral_v<T>;
    switch (C) {
        case Op::eq:
            return 0;
        case Op::ne:
            return whole ? 4 : 12;
        case Op::lt:
        case Op::lo:
            return whole ? 1 : 17;
        case Op::le:
        case Op::ls:
            return whole ? 2 : 18;
        case Op::gt:
        case Op::hi:
            return whole ? 6 : 30;
        case Op::ge:
        case Op::hs:
            return whole ? 5 : 29;
        case Op::equ:
            return 8;
        case Op::neu:
            return 4;
        case Op::ltu:
            return 25;
        case Op::leu:
            return 26;
        case Op::gtu:
            return 22;
        case Op::geu:
            return 21;
        case Op::num:
            return 7;
        case Op::nan:
            break;
    }
    return 3;
}

inline std::int32_t all_bits(bool is) { return -static_cast<std::int32_t>(is); }
template <class V>
V all_bits(V is) {
    return is;
}

struct SetPredicate {
    template <class M, class T>
    static constexpr bool vectors = (sizeof(T) >= 4 || (sizeof(T) == 2 && std::is_integral_v<T>)) &&
                                    !M::ftz;
    template <class M, class V>
    static void lane(MaskBits& p, V a, V b) {
        p.of = bits_where<relation<M::compare, Each<V>>()>(a, b);
    }
    template <class M, class P, class T>
    static void lane(P& p, T a, T b) {
        if constexpr (std::is_same_v<T, Half>)
            p = all_bits(compared<M::compare>(widen_to_float(flushed_bits<M>(a)),
                                              widen_to_float(flushed_bits<M>(b))));
        else if constexpr (std::is_same_v<T, BFloat16>)
            p = all_bits(compared<M::compare>(widen(a), widen(b)));
        else if constexpr (std::is_floating_point_v<T>)
            p = all_bits(compared<M::compare>(input<M>(a), input<M>(b)));
        else
            p = all_bits(compared<M::compare>(a, b));
    }
};
struct Select {
    template <class M, class T>
    static constexpr bool vectors = sizeof(T) >= 4 || (sizeof(T) == 2 && std::is_integral_v<T>);
    template <class M, class T, class C>
    static void lane(T& d, T a, T b, C c) {
        if constexpr (std::is_same_v<C, MaskBits>)
            d = blend(c.of, a, b);
        else
            d = c ? a : b;
    }
};
struct SelectSign {
    template <class M, class T, class C>
    static void lane(T& d, T a, T b, C c) {
        if constexpr (std::is_same_v<C, float>)
            d = input<M>(c) >= 0 ? a : b;
        else
            d = c >= 0 ? a : b;
    }
};

}  // namespace cupola::cpu::CUPOLA_ISA
