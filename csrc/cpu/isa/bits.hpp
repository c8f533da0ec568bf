// csrc/cpu/isa/bits.hpp - bit operations, dot products, carries, predicate logic.
#pragma once

#include "cpu/isa/integer.hpp"

namespace cupola::cpu::CUPOLA_ISA {

struct Popc {
    template <class M, class T>
    static void lane(std::uint32_t& d, T a) {
        // Adds neighbouring bit groups, a form that compilers vectorize.
        T x = a;
        x = static_cast<T>(x - (x >> 1 & static_cast<T>(0x5555555555555555u)));
        x = static_cast<T>((x & static_cast<T>(0x3333333333333333u)) +
                           (x >> 2 & static_cast<T>(0x3333333333333333u)));
        x = static_cast<T>((x + (x >> 4)) & static_cast<T>(0x0f0f0f0f0f0f0f0fu));
        for (unsigned shift = 8; shift < bits_of<T>; shift *= 2)
            x = static_cast<T>(x + (x >> shift));
        d = static_cast<std::uint32_t>(x & 127);
    }
};
template <class T>
std::uint32_t leading_zeros(T a) {
    if (a == 0) return bits_of<T>;
    return static_cast<std::uint32_t>(
        sizeof(T) == 8 ? __builtin_clzll(a) : __builtin_clz(static_cast<std::uint32_t>(a)));
}
struct Clz {
    template <class M, class T>
    static void lane(std::uint32_t& d, T a) {
        d = leading_zeros(a);
    }
};
// The position of the highest bit that differs from the sign; all ones if no bit does.
struct Bfind {
    template <class M, class T>
    static void lane(std::uint32_t& d, T a) {
        using U = std::make_unsigned_t<T>;
        const U x = static_cast<U>(a < T(0) + 0 ? ~a : a);
        const std::uint32_t zeros = leading_zeros(x);
        d = x == 0 ? ~0u : M::raw_mode ? zeros : bits_of<T> - 1 - zeros;
    }
};
// The position of the n-th set bit from `base`, upwards or downwards.
struct Fns {
    template <class M>
    static void lane(std::uint32_t& d, std::uint32_t mask, std::uint32_t base,
                     std::uint32_t offset) {
        const auto n = static_cast<std::int32_t>(offset);
        const int step = n < 0 ? -1 : 1;
        std::uint64_t left = n == 0  ? 1
                             : n < 0 ? 0ull - static_cast<std::uint64_t>(std::int64_t{n})
                                     : std::uint64_t(n);
        d = ~0u;
        if (base > 31) return;
        if (n == 0) {
            if (mask >> base & 1) d = base;
            return;
        }
        for (int at = static_cast<int>(base); at >= 0 && at < 32; at += step)
            if ((mask >> at & 1) && --left == 0) {
                d = static_cast<std::uint32_t>(at);
                return;
            }
    }
};
struct Brev {
    template <class M, class T>
    static void lane(T& d, T a) {
        std::uint64_t x = a;
        x = (x >> 1 & 0x5555555555555555u) | (x & 0x5555555555555555u) << 1;
        x = (x >> 2 & 0x3333333333333333u) | (x & 0x3333333333333333u) << 2;
        x = (x >> 4 & 0x0f0f0f0f0f0f0f0fu) | (x & 0x0f0f0f0f0f0f0f0fu) << 4;
        x = __builtin_bswap64(x);
        d = static_cast<T>(x >> (64 - bits_of<T>));
    }
};
// 32-bit forms read only the low byte of position and length, 64-bit forms read all, as an H200
// does.
template <class T>
std::uint64_t field_operand(std::uint32_t x) {
    return sizeof(T) == 4 ? x & 0xff : x;
}
struct Bfe {
    template <class M, class T>
    static void lane(T& d, T a, std::uint32_t b, std::uint32_t c) {
        const std::uint64_t from = field_operand<T>(b), length = field_operand<T>(c);
        constexpr std::uint64_t top = bits_of<T> - 1;
        using U = std::make_unsigned_t<T>;
        const std::uint64_t last = from + length - 1;
        const bool sign = std::is_signed_v<T> && length != 0 &&
                          (static_cast<U>(a) >> (last < top ? last : top) & 1);
        const U shifted = from <= top ? static_cast<U>(a) >> from : U(0);
        const U mask = length > top ? ~U(0) : static_cast<U>((U(1) << length) - 1);
        // Bits above the operand's top are copies of the sign.
        const U present = from > top ? U(0) : static_cast<U>(~U(0) >> from);
        const U kept = shifted & mask & present;
        d = static_cast<T>(sign ? kept | ~(mask & present) : kept);
    }
};
struct Bfi {
    template <class M, class T>
    static void lane(T& d, T a, T b, std::uint32_t c, std::uint32_t e) {
        const std::uint64_t from = field_operand<T>(c), length = field_operand<T>(e);
        const T ones = length >= bits_of<T> ? ~T(0) : static_cast<T>((T(1) << length) - 1);
        const T mask = from >= bits_of<T> ? T(0) : static_cast<T>(ones << from);
        const T moved = from >= bits_of<T> ? T(0) : static_cast<T>(a << from);
        d = (b & ~mask) | (moved & mask);
    }
};
struct Szext {
    template <class M, class T>
    static void lane(T& d, T a, std::uint32_t b) {
        const std::uint32_t n = M::mode == ptx::Mode::wrap ? b & 31 : b < 32 ? b : 32;
        if (n == 32) {
            d = a;
        } else if (n == 0) {
            d = 0;
        } else {
            const auto up = static_cast<std::uint32_t>(a) << (32 - n);
            d = std::is_signed_v<T> ? static_cast<T>(static_cast<std::int32_t>(up) >> (32 - n))
                                    : static_cast<T>(up >> (32 - n));
        }
    }
};
struct Bmsk {
    template <class M>
    static void lane(std::uint32_t& d, std::uint32_t a, std::uint32_t b) {
        const bool wrap = M::mode == ptx::Mode::wrap;
        const std::uint32_t from = wrap ? a & 31 : a, width = wrap ? b & 31 : b;
        const std::uint64_t ones = width >= 32 ? 0xffffffffu : (1ull << width) - 1;
        d = from >= 32 ? 0 : static_cast<std::uint32_t>(ones << from);
    }
};

template <class T>
std::int32_t part_of(std::uint32_t x, unsigned n, unsigned bits) {
    const std::uint32_t up = x << (32 - bits * (n + 1));
    return std::is_signed_v<T> ? static_cast<std::int32_t>(up) >> (32 - bits)
                               : static_cast<std::int32_t>(up >> (32 - bits));
}
struct Dp4a {
    template <class M, class T>
    static void lane(T& d, std::uint32_t a, std::uint32_t b, T c) {
        using A = Lane<M::type>;
        using B = Lane<M::type2>;
        auto sum = static_cast<std::uint32_t>(c);
        for (unsigned i = 0; i < 4; ++i)
            sum += static_cast<std::uint32_t>(part_of<A>(a, i, 8) * part_of<B>(b, i, 8));
        d = static_cast<T>(sum);
    }
};
template <unsigned First>
struct Dp2a {
    template <class M, class T>
    static void lane(T& d, std::uint32_t a, std::uint32_t b, T c) {
        using A = Lane<M::type>;
        using B = Lane<M::type2>;
        auto sum = static_cast<std::uint32_t>(c);
        for (unsigned i = 0; i < 2; ++i)
            sum += static_cast<std::uint32_t>(part_of<A>(a, i, 16) * part_of<B>(b, First + i, 8));
        d = static_cast<T>(sum);
    }
};
using Dp2aLow = Dp2a<0>;
using Dp2aHigh = Dp2a<2>;

struct FunnelLeft {
    template <class M>
    static void lane(std::uint32_t& d, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
        const std::uint32_t n = M::mode == ptx::Mode::wrap ? c & 31 : c < 32 ? c : 32;
        d = static_cast<std::uint32_t>((std::uint64_t{b} << 32 | a) << n >> 32);
    }
};
struct FunnelRight {
    template <class M>
    static void lane(std::uint32_t& d, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
        const std::uint32_t n = M::mode == ptx::Mode::wrap ? c & 31 : c < 32 ? c : 32;
        d = static_cast<std::uint32_t>((std::uint64_t{b} << 32 | a) >> n);
    }
};
struct Prmt {
    template <class M>
    static void lane(std::uint32_t& d, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
        constexpr auto mode = static_cast<ptx::Permute>(M::raw_mode);
        const std::uint64_t bytes = std::uint64_t{b} << 32 | a;
        const std::uint32_t s = c & 3;
        std::uint32_t select = c;
        switch (mode) {
            case ptx::Permute::f4e:
                select = 0x3210 + 0x1111 * s;
                break;
            case ptx::Permute::b4e:
                select = s == 0 ? 0x5670 : s == 1 ? 0x6701 : s == 2 ? 0x7012 : 0x0123;
                break;
            case ptx::Permute::rc8:
                select = 0x1111 * s;
                break;
            case ptx::Permute::ecl:
                select = s == 0 ? 0x3210 : s == 1 ? 0x3211 : s == 2 ? 0x3222 : 0x3333;
                break;
            case ptx::Permute::ecr:
                select = s == 0 ? 0x0000 : s == 1 ? 0x1110 : s == 2 ? 0x2210 : 0x3210;
                break;
            case ptx::Permute::rc16:
                select = (s & 1) ? 0x3232 : 0x1010;
                break;
            case ptx::Permute::none:
                break;
        }
        std::uint32_t out = 0;
        for (unsigned i = 0; i < 4; ++i) {
            const std::uint32_t nibble = select >> 4 * i & 15;
            const auto byte = static_cast<std::uint32_t>(bytes >> 8 * (nibble & 7) & 0xff);
            const std::uint32_t sign = 0u - (byte >> 7 & 1);
            out |= ((mode == ptx::Permute::none && (nibble & 8)) ? sign & 0xff : byte) << 8 * i;
        }
        d = out;
    }
};

// Stores a sum and its carry.
template <class T, class W>
void carried(T& d, std::int32_t* carry, W sum) {
    d = static_cast<T>(sum);
    if (carry) *carry = (sum >> bits_of<T>)&1 ? -1 : 0;
}
template <class T>
auto widened(T a) {
    using U = std::make_unsigned_t<T>;
    return static_cast<Wide<U>>(static_cast<U>(a));
}
struct AddCarryOut {
    template <class M, class T>
    static void lane(T& d, T a, T b, std::int32_t& out) {
        carried(d, &out, widened(a) + widened(b));
    }
};
struct AddCarryIn {
    template <class M, class T>
    static void lane(T& d, T a, T b, bool in) {
        carried(d, nullptr, widened(a) + widened(b) + in);
    }
};
struct AddCarry {
    template <class M, class T>
    static void lane(T& d, T a, T b, bool in, std::int32_t& out) {
        carried(d, &out, widened(a) + widened(b) + in);
    }
};
// Hardware adds the complement, so the condition code is set if there is no borrow.
struct SubCarryOut {
    template <class M, class T>
    static void lane(T& d, T a, T b, std::int32_t& out) {
        carried(d, &out, widened(a) + widened(static_cast<T>(~b)) + true);
    }
};
struct SubCarryIn {
    template <class M, class T>
    static void lane(T& d, T a, T b, bool in) {
        carried(d, nullptr, widened(a) + widened(static_cast<T>(~b)) + in);
    }
};
struct SubCarry {
    template <class M, class T>
    static void lane(T& d, T a, T b, bool in, std::int32_t& out) {
        carried(d, &out, widened(a) + widened(static_cast<T>(~b)) + in);
    }
};
template <bool High, bool Takes, bool Gives>
struct MadCarry {
    template <class M, class T>
    static auto sum(T a, T b, T c, bool in) {
        return widened(High ? high_product(a, b) : low_product(a, b)) + widened(c) + in;
    }
    template <class M, class T>
    static void lane(T& d, T a, T b, T c, bool in, std::int32_t& out) {
        carried(d, &out, sum<M>(a, b, c, in));
    }
    template <class M, class T>
    static void lane(T& d, T a, T b, T c, std::int32_t& out) {
        carried(d, &out, sum<M>(a, b, c, false));
    }
    template <class M, class T>
    static void lane(T& d, T a, T b, T c, bool in) {
        carried(d, nullptr, sum<M>(a, b, c, in));
    }
};
using MadLowCarryOut = MadCarry<false, false, true>;
using MadHighCarryOut = MadCarry<true, false, true>;
using MadLowCarryIn = MadCarry<false, true, false>;
using MadHighCarryIn = MadCarry<true, true, false>;
using MadLowCarry = MadCarry<false, true, true>;
using MadHighCarry = MadCarry<true, true, true>;

// Predicates are 32 bits for 32 lanes, so no loop over lanes is needed.
template <class Op>
struct PredicateLogic {
    using Whole = void;
    static inline const DecodedOp* body(const DecodedOp* ip, Warp& w, std::byte* r) {
        std::uint32_t& d = bits_at(r, ip->op[0]);
        d = (d & ~w.mask) | (Op::of(bits_at(r, ip->op[1]), bits_at(r, ip->op[2])) & w.mask);
        return ip + 1;
    }
    template <class M>
    static Handler handler(const Key&) {
        return &threaded<&body>;
    }
};
struct AndBits {
    static std::uint32_t of(std::uint32_t a, std::uint32_t b) { return a & b; }
};
struct OrBits {
    static std::uint32_t of(std::uint32_t a, std::uint32_t b) { return a | b; }
};
struct XorBits {
    static std::uint32_t of(std::uint32_t a, std::uint32_t b) { return a ^ b; }
};
struct NotBits {
    static std::uint32_t of(std::uint32_t a, std::uint32_t) { return ~a; }
};
struct SameBits {
    static std::uint32_t of(std::uint32_t a, std::uint32_t) { return a; }
};
using AndPredicate = PredicateLogic<AndBits>;
using OrPredicate = PredicateLogic<OrBits>;
using XorPredicate = PredicateLogic<XorBits>;
using NotPredicate = PredicateLogic<NotBits>;
using MovePredicate = PredicateLogic<SameBits>;

}  // namespace cupola::cpu::CUPOLA_ISA
