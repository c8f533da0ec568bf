// csrc/cpu/isa/integer.hpp - integer arithmetic, logic and shifts of one lane.
#pragma once

#include <limits>

#include "cpu/isa/bind.hpp"
#include "cpu/isa/vector.hpp"

namespace cupola::cpu::CUPOLA_ISA {

template <class T>
constexpr unsigned bits_of = 8 * sizeof(Each<T>);

template <class T>
T saturated(std::int64_t x) {
    using L = std::numeric_limits<T>;
    return static_cast<T>(x < L::min() ? L::min() : x > L::max() ? L::max() : x);
}

struct Add {
    template <class M, class T>
    static constexpr bool vectors = !M::sat;
    template <class M, class T>
    static void lane(T& d, T a, T b) {
        if constexpr (M::sat)
            d = saturated<T>(std::int64_t{a} + b);
        else
            d = T(Modular<T>(a) + Modular<T>(b));
    }
};
struct Sub {
    template <class M, class T>
    static constexpr bool vectors = !M::sat;
    template <class M, class T>
    static void lane(T& d, T a, T b) {
        if constexpr (M::sat)
            d = saturated<T>(std::int64_t{a} - b);
        else
            d = T(Modular<T>(a) - Modular<T>(b));
    }
};

template <class T>
T low_product(T a, T b) {
    return T(Modular<T>(a) * Modular<T>(b));
}
template <class T>
Wide<T> wide_product(T a, T b) {
    return static_cast<Wide<T>>(static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b));
}
template <class T>
T high_product(T a, T b) {
    return static_cast<T>(wide_product(a, b) >> bits_of<T>);
}

struct Mul {
    template <class M, class T>
    static constexpr bool vectors = M::part != ptx::Part::hi;
    template <class M, class T>
    static void lane(T& d, T a, T b) {
        if constexpr (M::part == ptx::Part::hi)
            d = high_product(a, b);
        else
            d = low_product(a, b);
    }
};
struct MulWide {
    template <class M>
    static constexpr bool mixes = true;
    template <class M, class W, class T>
    static void lane(W& d, T a, T b) {
        if constexpr (std::is_integral_v<T>)
            d = wide_product(a, b);
        else
            d = converted<W>(a) * converted<W>(b);
    }
};
struct Mad {
    template <class M, class T>
    static constexpr bool vectors = Mul::vectors<M, T> && !M::sat;
    template <class M, class T>
    static void lane(T& d, T a, T b, T c) {
        if constexpr (M::sat) {
            d = saturated<T>(std::int64_t{high_product(a, b)} + c);
        } else {
            T product;
            Mul::lane<M>(product, a, b);
            d = T(Modular<T>(product) + Modular<T>(c));
        }
    }
};
struct MadWide {
    template <class M>
    static constexpr bool mixes = true;
    template <class M, class W, class T>
    static void lane(W& d, T a, T b, W c) {
        W product;
        MulWide::lane<M>(product, a, b);
        d = W(Modular<W>(product) + Modular<W>(c));
    }
};

// Multiplies 24-bit integers: the result is bits 0-31 or 16-47 of the 48-bit product.
template <class M, class T>
T product24(T a, T b) {
    const auto cut = [](T x) {
        return std::is_signed_v<T>
                   ? static_cast<std::int64_t>(static_cast<std::uint64_t>(x) << 40) >> 40
                   : static_cast<std::int64_t>(x & 0xffffff);
    };
    const auto p = static_cast<std::uint64_t>(cut(a)) * static_cast<std::uint64_t>(cut(b));
    return static_cast<T>(M::part == ptx::Part::lo ? p : p >> 16);
}
// The product of two polynomials over the field of two elements, plus c. Each half is 64 bits.
template <bool High>
struct Carryless {
    template <class M, class T>
    static void lane(T& d, T a, T b, T c) {
        const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
        std::uint64_t made = 0;
        for (unsigned n = 0; n < 64; ++n) {
            const std::uint64_t part = High ? (n == 0 ? 0 : x >> (64 - n)) : x << n;
            made ^= part & (0 - (y >> n & 1));
        }
        d = static_cast<T>(made ^ static_cast<std::uint64_t>(c));
    }
};
using CarrylessLow = Carryless<false>;
using CarrylessHigh = Carryless<true>;

struct Mul24 {
    template <class M, class T>
    static void lane(T& d, T a, T b) {
        d = product24<M>(a, b);
    }
};
struct Mad24 {
    template <class M, class T>
    static void lane(T& d, T a, T b, T c) {
        if constexpr (M::sat)
            d = saturated<T>(std::int64_t{product24<M>(a, b)} + c);
        else
            d = static_cast<T>(Modular<T>(product24<M>(a, b)) + Modular<T>(c));
    }
};
struct Sad {
    template <class M, class T>
    static void lane(T& d, T a, T b, T c) {
        using U = Modular<T>;
        d = static_cast<T>(U(c) + (a < b ? U(b) - U(a) : U(a) - U(b)));
    }
};

// Division by zero gives all ones, as on hardware. The lowest number divided by -1 wraps.
template <class T>
T quotient(T a, T b) {
    if constexpr (sizeof(T) <= 4) {
        // Exact: a quotient of 32-bit integers is never less than 2^-32 below the next integer.
        const double q = static_cast<double>(a) / static_cast<double>(b == 0 ? T(1) : b);
        return b == 0 ? static_cast<T>(~T(0)) : static_cast<T>(static_cast<std::int64_t>(q));
    } else {
        if (b == 0) return static_cast<T>(~T(0));
        if (std::is_signed_v<T> && b == static_cast<T>(-1))
            return static_cast<T>(0 - Modular<T>(a));
        return static_cast<T>(a / b);
    }
}
struct Div {
    template <class M, class T>
    static void lane(T& d, T a, T b) {
        d = quotient(a, b);
    }
};
struct Rem {
    template <class M, class T>
    static void lane(T& d, T a, T b) {
        using U = Modular<T>;
        d = b == 0 ? static_cast<T>(~T(0)) : static_cast<T>(U(a) - U(quotient(a, b)) * U(b));
    }
};

struct Abs {
    template <class M, class T>
    static constexpr bool vectors = true;
    template <class M, class T>
    static void lane(T& d, T a) {
        d = a < T{} ? T(Modular<T>{} - Modular<T>(a)) : a;
    }
};
struct Neg {
    template <class M, class T>
    static constexpr bool vectors = true;
    template <class M, class T>
    static void lane(T& d, T a) {
        d = T(Modular<T>{} - Modular<T>(a));
    }
};
struct Min {
    template <class M, class T>
    static constexpr bool vectors = !M::relu;
    template <class M, class T>
    static void lane(T& d, T a, T b) {
        d = a < b ? a : b;
        if constexpr (M::relu) d = d < T(0) + 0 ? T(0) : d;
    }
};
struct Max {
    template <class M, class T>
    static constexpr bool vectors = !M::relu;
    template <class M, class T>
    static void lane(T& d, T a, T b) {
        d = a > b ? a : b;
        if constexpr (M::relu) d = d < T(0) + 0 ? T(0) : d;
    }
};

struct And {
    template <class M, class T>
    static constexpr bool vectors = true;
    template <class M, class T>
    static void lane(T& d, T a, T b) {
        d = a & b;
    }
};
struct Or {
    template <class M, class T>
    static constexpr bool vectors = true;
    template <class M, class T>
    static void lane(T& d, T a, T b) {
        d = a | b;
    }
};
struct Xor {
    template <class M, class T>
    static constexpr bool vectors = true;
    template <class M, class T>
    static void lane(T& d, T a, T b) {
        d = a ^ b;
    }
};
struct Not {
    template <class M, class T>
    static constexpr bool vectors = true;
    template <class M, class T>
    static void lane(T& d, T a) {
        d = T(~a);
    }
};
struct Cnot {
    template <class M, class T>
    static void lane(T& d, T a) {
        d = a == 0;
    }
};
struct Lop3 {
    template <class M>
    static void lane(std::uint32_t& d, std::uint32_t a, std::uint32_t b, std::uint32_t c,
                     std::uint64_t table) {
        const auto term = [table](unsigned n) {
            return 0u - static_cast<std::uint32_t>(table >> n & 1);
        };
        d = (~a & ~b & ~c & term(0)) | (~a & ~b & c & term(1)) | (~a & b & ~c & term(2)) |
            (~a & b & c & term(3)) | (a & ~b & ~c & term(4)) | (a & ~b & c & term(5)) |
            (a & b & ~c & term(6)) | (a & b & c & term(7));
    }
};
struct Shl {
    template <class M, class T>
    static constexpr bool vectors = sizeof(T) >= 4;
    template <class M, class T, class N>
    static void lane(T& d, T a, N n) {
        d = n < bits_of<T> ? T(Modular<T>(a) << (n & (bits_of<T> - 1))) : T{};
    }
};
struct Shr {
    template <class M, class T>
    static constexpr bool vectors = sizeof(T) >= 4;
    template <class M, class T, class N>
    static void lane(T& d, T a, N n) {
        const N last = N{} + (bits_of<T> - 1), m = n < bits_of<T> ? n : last;
        if constexpr (std::is_signed_v<Each<T>>)
            d = T(a >> m);
        else
            d = n < bits_of<T> ? T(a >> m) : T{};
    }
};

}  // namespace cupola::cpu::CUPOLA_ISA
