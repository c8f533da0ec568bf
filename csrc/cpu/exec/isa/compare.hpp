// csrc/cpu/exec/isa/compare.hpp - comparison and selection.
#pragma once

#include "cpu/exec/isa/real.hpp"

namespace cupola::cpu::CUPOLA_ISA {

// Of vectors a vector, of 0 or -1 in each lane.
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

inline std::int32_t all_bits(bool is) { return -static_cast<std::int32_t>(is); }
template <class V>
V all_bits(V is) {
    return is;
}

struct SetPredicate {
    template <class M, class T>
    static constexpr bool vectors = sizeof(T) >= 4 && !M::ftz;
    template <class M, class P, class T>
    static void lane(P& p, T a, T b) {
        if constexpr (std::is_same_v<T, Half>)
            p = all_bits(compared<M::compare>(widen_to_float(flushed_bits<M>(a)),
                                              widen_to_float(flushed_bits<M>(b))));
        else if constexpr (std::is_same_v<T, Brain>)
            p = all_bits(compared<M::compare>(widen(a), widen(b)));
        else if constexpr (std::is_floating_point_v<T>)
            p = all_bits(compared<M::compare>(input<M>(a), input<M>(b)));
        else
            p = all_bits(compared<M::compare>(a, b));
    }
};
struct Select {
    template <class M, class T>
    static constexpr bool vectors = sizeof(T) >= 4;
    template <class M, class T, class C>
    static void lane(T& d, T a, T b, C c) {
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
