// csrc/kernels/array/flat.cuh - operations on contiguous elements.
#pragma once

#include "arguments.h"
#include "classes.cuh"

namespace cupola::arrays {

// Elements in registers, loaded and stored as one word. Loads and stores have no cache hints: the
// streaming hint costs up to 6 % on an H200 if the previous operation did not use it.
template <class S, int n>
struct alignas(n * sizeof(S)) Pack {
    S at[n];
};
template <int bytes>
struct BitsOf;
template <>
struct BitsOf<16> {
    using type = uint4;
};
template <>
struct BitsOf<8> {
    using type = uint2;
};
template <>
struct BitsOf<4> {
    using type = unsigned;
};
template <>
struct BitsOf<2> {
    using type = unsigned short;
};
template <>
struct BitsOf<1> {
    using type = unsigned char;
};

// A thread's pack in its block's piece of memory.
template <class P>
__device__ P load_pack(unsigned long long piece, unsigned place = 0) {
    using Bits = typename BitsOf<sizeof(P)>::type;
    const Bits bits = reinterpret_cast<const Bits*>(piece)[place];
    P value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
template <class P>
__device__ void store_pack(unsigned long long piece, unsigned place, const P& value) {
    using Bits = typename BitsOf<sizeof(P)>::type;
    Bits bits;
    memcpy(&bits, &value, sizeof bits);
    reinterpret_cast<Bits*>(piece)[place] = bits;
}

// Whether an operation has a `words` form for packs of n narrow integers, or of truth values used
// as such. Its results have the width of the operands.
template <class S>
using Narrow = std::conditional_t<std::is_same_v<S, b8>, u8, S>;
template <class Operation, class R, class S, int n, class = void>
constexpr bool by_words = false;
template <class Operation, class R, class S, int n>
constexpr bool by_words<Operation, R, S, n,
                        std::void_t<decltype(Operation::template words<Narrow<S>>(0, 0))>> =
    std::is_integral_v<Narrow<S>> && sizeof(S) < sizeof(u32) &&
    sizeof(R) == sizeof(S) && n * sizeof(S) % sizeof(u32) == 0;

// Whether an operation has a `stored` form for elements stored as S.
template <class Operation, class S, class C, class = void>
constexpr bool by_stored = false;
template <class Operation, class S, class C>
constexpr bool
    by_stored<Operation, S, C, std::void_t<decltype(Operation::template stored<S>(C{}, C{}))>> =
        true;

template <class Operation, class R, class S, int n, class C>
__device__ Pack<R, n> of_words(int form, C scalar, const Pack<S, n>& x, const Pack<S, n>& y) {
    constexpr bool bytes = sizeof(S) == 1, truth_values = std::is_same_v<S, b8>;
    const u32 all = bytes ? (scalar & 0xff) * 0x01010101u : (scalar & 0xffff) * 0x00010001u;
    u32 first[n * sizeof(S) / sizeof(u32)], second[n * sizeof(S) / sizeof(u32)];
    memcpy(first, &x, sizeof x);
    memcpy(second, &y, sizeof y);
#pragma unroll
    for (int i = 0; i < n * sizeof(S) / sizeof(u32); ++i) {
        u32 one = form == first_scalar ? all : first[i];
        u32 other = form == second_scalar ? all : second[i];
        if (truth_values && !predicate::reads_any_byte<Operation>)
            one = arithmetic::truths(one), other = arithmetic::truths(other);
        first[i] = Operation::template words<Narrow<S>>(one, other);
    }
    Pack<R, n> out;
    memcpy(&out, first, sizeof out);
    return out;
}

template <class Operation, class R, class S, int n, class C>
__device__ Pack<R, n> of_pack(Operation operation, int form, C scalar, const Pack<S, n>& x,
                              const Pack<S, n>& y) {
    Pack<R, n> out;
    if constexpr (by_words<Operation, R, S, n>) {
        out = of_words<Operation, R>(form, scalar, x, y);
    } else {
#pragma unroll
        for (int i = 0; i < n; ++i) {
            const C first = form == first_scalar ? scalar : convert<C>(x.at[i]);
            const C second = form == second_scalar ? scalar : convert<C>(y.at[i]);
            if constexpr (by_stored<Operation, S, C>)
                out.at[i] = store<R>(Operation::template stored<S>(first, second));
            else
                out.at[i] = store<R>(operation.of(first, second));
        }
    }
    return out;
}

// Whether elements are computed in a loop: integer operations that take tens of instructions each.
template <class Operation, class S>
constexpr bool takes_turns = std::is_same_v<Operation, arithmetic::power> ||
                             (sizeof(S) >= sizeof(u32) &&
                              (std::is_same_v<Operation, arithmetic::fmod> ||
                               std::is_same_v<Operation, arithmetic::floor_divide> ||
                               std::is_same_v<Operation, arithmetic::remainder>));

// x = of(x, y) for all elements with one copy of the code: the elements rotate in registers.
template <class T, int n, class Of>
__device__ void apply_in_loop(T (&x)[n], T (&y)[n], Of of) {
#pragma unroll 1
    for (int count = 0; count < n; ++count) {
        const T made = of(x[0], y[0]);
#pragma unroll
        for (int k = 0; k + 1 < n; ++k) x[k] = x[k + 1], y[k] = y[k + 1];
        x[n - 1] = made;
    }
}

// Stops the compiler from extracting the elements of a word early, which takes registers.
template <class Held>
__device__ void keep_whole(Held& held) {
    if constexpr (std::is_same_v<Held, uint4>)
        asm volatile("" : "+r"(held.x), "+r"(held.y), "+r"(held.z), "+r"(held.w));
}

// Applies one operation to pairs of elements. The operation is uniform, so it is chosen once. The
// packs are unrolled: a loop over them makes a product of bytes 15 % slower. Packs stay words until
// an operation needs elements, because the compiler would otherwise extract bytes early and run out
// of registers. Long operations on strided elements use a loop, which is less code. In packs, that
// loop made all other operations 10 % slower.
template <class Class, class S, int operands = 0, class Arguments, class Held, class R, int n,
          int packs>
__device__ void compute(const Arguments& a, const Held (&x)[packs], const Held (&y)[packs],
                        Pack<R, n> (&out)[packs]) {
    using C = computed<S>;
    const C scalar = scalar_of<C>(a.scalar);
    Class::template choose<S, operands>(a.operation, [&](auto operation) {
        using Operation = decltype(operation);
        if constexpr (takes_turns<Operation, S> && std::is_same_v<Arguments, Strided>) {
            Pack<S, 1> first[packs * n], second[packs * n];
            memcpy(first, x, sizeof first);
            memcpy(second, y, sizeof second);
            apply_in_loop(first, second, [&](const auto& one, const auto& other) {
                return of_pack<Operation, S>(operation, a.form, scalar, one, other);
            });
            memcpy(out, first, sizeof first);
        } else {
#pragma unroll
            for (int k = 0; k < packs; ++k) {
                Held of_x = x[k], of_y = y[k];
                keep_whole(of_x), keep_whole(of_y);
                Pack<S, n> first, second;
                memcpy(&first, &of_x, sizeof first);
                memcpy(&second, &of_y, sizeof second);
                out[k] = of_pack<Operation, R>(operation, a.form, scalar, first, second);
            }
        }
    });
}

// Each thread loads one or two aligned packs, a block's width apart; the last tile goes one element
// at a time. The grid covers all elements: a loop over tiles takes registers and 3 % of the speed.
// A block's base addresses are uniform, so they take no instructions in each thread.
template <class Class, class S, int operands>
__device__ void flat_of(const Flat& a) {
    using R = typename Class::template Result<S>;
    constexpr unsigned n = flat_pack(sizeof(S));
    constexpr unsigned packs = flat_packs(operands == 1, sizeof(S), sizeof(R));
    constexpr unsigned tile = threads * n * packs;
    const bool has_x = a.form != first_scalar;
    const bool has_y = a.form == both_arrays || a.form == first_scalar;
    const unsigned long long base = static_cast<unsigned long long>(blockIdx.x) * tile;
    const unsigned long long from_x = a.x + base * sizeof(S), from_y = a.y + base * sizeof(S);
    const unsigned long long to = a.out + base * sizeof(R);
    if (base + tile <= a.count) {
        uint4 x[packs]{}, y[packs]{};
#pragma unroll
        for (unsigned k = 0; k < packs; ++k) {
            if (has_x) x[k] = load_pack<uint4>(from_x, k * threads + threadIdx.x);
            if (has_y) y[k] = load_pack<uint4>(from_y, k * threads + threadIdx.x);
        }
        Pack<R, n> out[packs];
        compute<Class, S, operands>(a, x, y, out);
#pragma unroll
        for (unsigned k = 0; k < packs; ++k) store_pack(to, k * threads + threadIdx.x, out[k]);
        return;
    }
    const auto rest = static_cast<unsigned>(a.count - base);
#pragma unroll 1
    for (unsigned at = threadIdx.x; at < rest; at += threads) {
        Pack<S, 1> x[1]{}, y[1]{};
        if (has_x) x[0] = load_pack<Pack<S, 1>>(from_x, at);
        if (has_y) y[0] = load_pack<Pack<S, 1>>(from_y, at);
        Pack<R, 1> out[1];
        compute<Class, S, operands>(a, x, y, out);
        store_pack(to, at, out[0]);
    }
}
template <class Class, class S>
__device__ void flat(const Flat& a) {
    constexpr unsigned result = sizeof(typename Class::template Result<S>);
    if constexpr (flat_packs(true, sizeof(S), result) == flat_packs(false, sizeof(S), result))
        flat_of<Class, S, 0>(a);
    else if (a.form == one_operand)
        flat_of<Class, S, 1>(a);
    else
        flat_of<Class, S, 2>(a);
}

}  // namespace cupola::arrays

// The kernels of one stored type: predicates, and arithmetic except for truth values. They use few
// registers for full occupancy, which keeps the most memory requests in flight.
#define CUPOLA_FLAT_PREDICATE(name)                                               \
    extern "C" __global__ void __launch_bounds__(cupola::arrays::threads, 8)      \
        predicate_##name(cupola::arrays::Flat a) {                                \
        cupola::arrays::flat<cupola::arrays::Predicate, cupola::arrays::name>(a); \
    }
#define CUPOLA_FLAT(name)                                                          \
    extern "C" __global__ void __launch_bounds__(cupola::arrays::threads, 8)       \
        arithmetic_##name(cupola::arrays::Flat a) {                                \
        cupola::arrays::flat<cupola::arrays::Arithmetic, cupola::arrays::name>(a); \
    }                                                                              \
    CUPOLA_FLAT_PREDICATE(name)
