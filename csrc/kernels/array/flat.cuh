// csrc/kernels/array/flat.cuh - operations on elements that follow each other.
#pragma once

#include "arguments.h"
#include "arithmetic.cuh"
#include "predicate.cuh"

namespace cupola::arrays {

// The two classes of operations that share a kernel: what they store, and how one is chosen.
struct Arithmetic {
    template <class S>
    using Result = S;
    template <class T, class Use>
    __device__ static void choose(int operation, Use use) {
        arithmetic::choose<T>(operation, use);
    }
};
struct Predicate {
    template <class S>
    using Result = b8;
    template <class T, class Use>
    __device__ static void choose(int operation, Use use) {
        predicate::choose<T>(operation, use);
    }
};

__device__ inline unsigned long long first_thread() {
    return static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline unsigned long long all_threads() {
    return static_cast<unsigned long long>(gridDim.x) * blockDim.x;
}

// Elements in registers, and the bits that they are loaded and stored as. Each element is touched
// once, so loads and stores leave the caches to others.
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

template <class P>
__device__ P load_once(unsigned long long address) {
    using Bits = typename BitsOf<sizeof(P)>::type;
    const Bits bits = __ldcs(reinterpret_cast<const Bits*>(address));
    P value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
template <class P>
__device__ void store_once(unsigned long long address, const P& value) {
    using Bits = typename BitsOf<sizeof(P)>::type;
    Bits bits;
    memcpy(&bits, &value, sizeof bits);
    __stcs(reinterpret_cast<Bits*>(address), bits);
}

// One operation on `n` pairs of elements; the same for all threads, so it is chosen once for all.
template <class Class, class S, int n>
__device__ Pack<typename Class::template Result<S>, n> compute(
    int operation_number, int form, const unsigned long long (&scalar_bits)[2], const Pack<S, n>& x,
    const Pack<S, n>& y) {
    using C = computed<S>;
    using R = typename Class::template Result<S>;
    Pack<R, n> out{};
    const C scalar = scalar_of<C>(scalar_bits);
    Class::template choose<C>(operation_number, [&](auto operation) {
#pragma unroll
        for (int i = 0; i < n; ++i) {
            const C first = form == first_scalar ? scalar : convert<C>(x.at[i]);
            const C second = form == second_scalar ? scalar : convert<C>(y.at[i]);
            out.at[i] = store<R>(operation.of(first, second));
        }
    });
    return out;
}

// 16 bytes of each operand. Of narrow types four elements are computed at a time, so that the code
// is not sixteen times as long.
template <class Class, class S>
__device__ auto compute16(const Flat& a, const Pack<S, 16 / sizeof(S)>& x,
                          const Pack<S, 16 / sizeof(S)>& y) {
    using R = typename Class::template Result<S>;
    constexpr int all = 16 / sizeof(S), some = all < 4 ? all : 4, turns = all / some;
    if constexpr (turns == 1) {
        return compute<Class>(a.operation, a.form, a.scalar, x, y);
    } else {
        // In registers, which an index that is known later only would not reach: they go round.
        using In = typename BitsOf<some * sizeof(S)>::type;
        using Out = typename BitsOf<some * sizeof(R)>::type;
        In first[turns], second[turns];
        Out results[turns]{};
        memcpy(&first, &x, 16);
        memcpy(&second, &y, 16);
#pragma unroll 1
        for (int turn = 0; turn < turns; ++turn) {
            Pack<S, some> p, q;
            memcpy(&p, &first[0], sizeof p);
            memcpy(&q, &second[0], sizeof q);
            const auto made = compute<Class>(a.operation, a.form, a.scalar, p, q);
#pragma unroll
            for (int i = 1; i < turns; ++i) {
                first[i - 1] = first[i];
                second[i - 1] = second[i];
                results[i - 1] = results[i];
            }
            memcpy(&results[turns - 1], &made, sizeof made);
        }
        Pack<R, all> out;
        memcpy(&out, &results, sizeof out);
        return out;
    }
}

// Any grid and block along x. Where the arrays lie alike towards 16 bytes, that much moves at once.
template <class Class, class S>
__device__ void flat(const Flat& a) {
    using R = typename Class::template Result<S>;
    constexpr unsigned long long n = 16 / sizeof(S);
    const bool has_x = a.form != first_scalar, has_y = a.form != second_scalar;
    const unsigned long long lead = has_x ? a.x : a.y;
    unsigned long long head = (16 - lead % 16) % 16 / sizeof(S);  // before what moves by packs
    const bool alike = (!has_x || !has_y || a.x % 16 == a.y % 16) &&
                       (a.out + head * sizeof(R)) % (n * sizeof(R)) == 0;
    if (!alike || head > a.count) head = a.count;
    const unsigned long long packs = (a.count - head) / n;
    for (auto i = first_thread(); i < packs; i += all_threads()) {
        const unsigned long long at = head + i * n;
        Pack<S, n> x{}, y{};
        if (has_x) x = load_once<Pack<S, n>>(a.x + at * sizeof(S));
        if (has_y) y = load_once<Pack<S, n>>(a.y + at * sizeof(S));
        store_once(a.out + at * sizeof(R), compute16<Class, S>(a, x, y));
    }
    const unsigned long long tail = head + packs * n, singles = head + (a.count - tail);
    for (auto i = first_thread(); i < singles; i += all_threads()) {
        const unsigned long long at = i < head ? i : tail + (i - head);
        Pack<S, 1> x{}, y{};
        if (has_x) x = load_once<Pack<S, 1>>(a.x + at * sizeof(S));
        if (has_y) y = load_once<Pack<S, 1>>(a.y + at * sizeof(S));
        store_once(a.out + at * sizeof(R), compute<Class>(a.operation, a.form, a.scalar, x, y));
    }
}

}  // namespace cupola::arrays

// The kernels of one stored type. Few registers, so that each multiprocessor is full: what waits
// for memory is as much as the device can have under way. (On an H200 this takes `2 * x` of 1 GiB
// from 85 % of a copy's bandwidth to 100 %.)
#define CUPOLA_FLAT(name)                                                          \
    extern "C" __global__ void __launch_bounds__(256, 8)                           \
        arithmetic_##name(cupola::arrays::Flat a) {                                \
        cupola::arrays::flat<cupola::arrays::Arithmetic, cupola::arrays::name>(a); \
    }                                                                              \
    extern "C" __global__ void __launch_bounds__(256, 8)                           \
        predicate_##name(cupola::arrays::Flat a) {                                 \
        cupola::arrays::flat<cupola::arrays::Predicate, cupola::arrays::name>(a);  \
    }
