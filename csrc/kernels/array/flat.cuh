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

// Elements in registers, and the bits that they are loaded and stored as. Loads and stores are
// plain ones: hints that each element is touched once cost up to 6 % on an H200, wherever the
// operation before had not given them.
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
__device__ P load_pack(unsigned long long address) {
    using Bits = typename BitsOf<sizeof(P)>::type;
    const Bits bits = *reinterpret_cast<const Bits*>(address);
    P value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
template <class P>
__device__ void store_pack(unsigned long long address, const P& value) {
    using Bits = typename BitsOf<sizeof(P)>::type;
    Bits bits;
    memcpy(&bits, &value, sizeof bits);
    *reinterpret_cast<Bits*>(address) = bits;
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

// Any grid and block along x. A thread has some elements at a time; where the arrays lie for it
// they follow each other and move at once, else, and in the last tile, they are a block's width
// apart, which is as fast for elements of 4 bytes and more.
template <class Class, class S>
__device__ void flat(const Flat& a) {
    using R = typename Class::template Result<S>;
    constexpr unsigned n = flat_at_once(sizeof(S));
    using In = Pack<S, n>;
    using Out = Pack<R, n>;
    const bool has_x = a.form != first_scalar, has_y = a.form != second_scalar;
    const bool aligned = (!has_x || a.x % sizeof(In) == 0) && (!has_y || a.y % sizeof(In) == 0) &&
                         a.out % sizeof(Out) == 0;
    const unsigned long long tile = static_cast<unsigned long long>(blockDim.x) * n;
    for (auto base = blockIdx.x * tile; base < a.count; base += gridDim.x * tile) {
        const bool whole = aligned && base + tile <= a.count;
        const unsigned long long first = base + threadIdx.x * (whole ? n : 1);
        In x{}, y{};
        if (whole) {
            if (has_x) x = load_pack<In>(a.x + first * sizeof(S));
            if (has_y) y = load_pack<In>(a.y + first * sizeof(S));
        } else {
#pragma unroll
            for (unsigned j = 0; j < n; ++j) {
                const unsigned long long at = first + j * blockDim.x;
                if (at >= a.count) break;
                if (has_x) x.at[j] = reinterpret_cast<const S*>(a.x)[at];
                if (has_y) y.at[j] = reinterpret_cast<const S*>(a.y)[at];
            }
        }
        const Out out = compute<Class>(a.operation, a.form, a.scalar, x, y);
        if (whole) {
            store_pack(a.out + first * sizeof(R), out);
        } else {
#pragma unroll
            for (unsigned j = 0; j < n; ++j) {
                const unsigned long long at = first + j * blockDim.x;
                if (at < a.count) reinterpret_cast<R*>(a.out)[at] = out.at[j];
            }
        }
    }
}

}  // namespace cupola::arrays

// The kernels of one stored type. Few registers, so that each multiprocessor is full: what waits
// for memory is as much as the device can have under way.
#define CUPOLA_FLAT(name)                                                          \
    extern "C" __global__ void __launch_bounds__(256, 8)                           \
        arithmetic_##name(cupola::arrays::Flat a) {                                \
        cupola::arrays::flat<cupola::arrays::Arithmetic, cupola::arrays::name>(a); \
    }                                                                              \
    extern "C" __global__ void __launch_bounds__(256, 8)                           \
        predicate_##name(cupola::arrays::Flat a) {                                 \
        cupola::arrays::flat<cupola::arrays::Predicate, cupola::arrays::name>(a);  \
    }
