// csrc/kernels/array/reduce.cuh - operations, accumulators and results of all reductions.
#pragma once

#include <limits>

#include "mixed.cuh"
#include "reductions.h"

namespace cupola::arrays {

namespace reduction {

using namespace arithmetic;

// Calls `use` with the functor of the launch's operation.
template <class Use>
__device__ void choose(int joint, Use use) {
    switch (joint) {
        case reductions::add:
            return use(add{});
        case reductions::multiply:
            return use(multiply{});
        case reductions::minimum:
            return use(minimum{});
        default:
            return use(maximum{});
    }
}

// The neutral element, used in place of missing elements.
template <class S>
__device__ S neutral(int joint) {
    if constexpr (std::is_same_v<S, f16>) {
        switch (joint) {
            case reductions::multiply:
                return {0x3c00};
            case reductions::minimum:
                return {0x7c00};
            case reductions::maximum:
                return {0xfc00};
            default:
                return {0};
        }
    } else if constexpr (is_complex<S>) {
        using R = real_of<S>;
        const R part = neutral<R>(joint);
        return {part, joint >= reductions::minimum ? part : R(0)};
    } else {
        using Limits = std::numeric_limits<S>;
        switch (joint) {
            case reductions::multiply:
                return 1;
            case reductions::minimum:
                return is_real<S> ? Limits::infinity() : Limits::max();
            case reductions::maximum:
                return is_real<S> ? static_cast<S>(-Limits::infinity()) : Limits::lowest();
            default:
                return 0;
        }
    }
}

// The stored element used after the end. It is false for `any`.
template <class S>
__device__ S filler(const Reduced& a) {
    return a.truth && a.joint == reductions::maximum ? S{} : neutral<S>(a.joint);
}

}  // namespace reduction

// The accumulator type: 64 bits for integers, float32 for float16, otherwise the same type.
template <class S>
using Accumulator =
    std::conditional_t<std::is_same_v<S, f16>, f32,
                       std::conditional_t<!std::is_integral_v<S>, S,
                                          std::conditional_t<std::is_signed_v<S>, i64, u64>>>;
template <class A>
constexpr bool rounds = !std::is_integral_v<A>;

// Converts a stored element to the accumulator type.
template <class T, class S>
__device__ T element_of(S stored, bool truth_alone) {
    const T value = convert<T>(stored);
    return truth_alone ? convert<T>(static_cast<i32>(truth(value))) : value;
}

// The type in which the elements of one pack are reduced: 32 bits if they suffice, for speed.
template <class Joint, class S>
using Joined = std::conditional_t<std::is_same_v<Joint, reduction::multiply> ||
                                      (std::is_same_v<Joint, reduction::add> && sizeof(S) > 2),
                                  Accumulator<S>, computed<S>>;

// Reduces `n` values as a tree.
template <class Joint, int n, class T>
__device__ T join(T (&values)[n]) {
#pragma unroll
    for (int half = n / 2; half > 0; half /= 2) {
#pragma unroll
        for (int i = 0; i < half; ++i) values[i] = Joint::of(values[i], values[i + half]);
    }
    return values[0];
}

// Partial results. If additions round, a sum is stored away after a few of them, so the error grows
// nearly with the logarithm of their number.
template <class A, int n>
struct Running {
    A inner[n], outer[n];
    unsigned steps = 0;

    __device__ explicit Running(A neutral) {
#pragma unroll
        for (int i = 0; i < n; ++i) inner[i] = outer[i] = neutral;
    }
    // After each step.
    __device__ void end_step(int joint, A neutral, unsigned flush_each, bool last) {
        if (!last && (!rounds<A> || ++steps % flush_each != 0)) return;
        reduction::choose(joint, [&](auto chosen) {
#pragma unroll
            for (int i = 0; i < n; ++i) {
                outer[i] = chosen.of(outer[i], inner[i]);
                inner[i] = neutral;
            }
        });
    }
};

template <class T>
__device__ T shuffle(T value, unsigned lanes) {
    unsigned words[sizeof(T) / 4];
    memcpy(words, &value, sizeof value);
#pragma unroll
    for (unsigned& word : words) word = __shfl_xor_sync(0xffffffff, word, lanes);
    memcpy(&value, words, sizeof value);
    return value;
}

// Reduces over the 2^log_width threads of each group. All threads of the block must call it; the
// first thread of each group has the result.
template <class A>
__device__ A join_group(int joint, int log_width, A value) {
    __shared__ A parts[reducers / 32];
    unsigned width = 1u << log_width;
    // First within warps, then over the warps if a group is a whole block.
#pragma unroll 1
    for (;;) {
        reduction::choose(joint, [&](auto chosen) {
#pragma unroll 1
            for (unsigned lanes = min(width, 32u) / 2; lanes > 0; lanes /= 2)
                value = chosen.of(value, shuffle(value, lanes));
        });
        if (width <= 32) return value;
        __syncthreads();  // the previous result's parts have been read
        if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
        __syncthreads();
        width = reducers / 32;
        value = parts[threadIdx.x % width];
    }
}

// Offsets of the i-th element along several axes. With several axes the host ensures that i has 32
// bits: a 64-bit division takes a hundred instructions.
struct Offsets {
    long long first = 0, second = 0;
};
__device__ inline Offsets offsets(unsigned long long i, int axes, const unsigned long long* lengths,
                                  const long long* first, const long long* second) {
    Offsets at;
#pragma unroll 1
    for (int axis = 0; axis < axes; ++axis) {
        unsigned long long whole = 0, here = i;
        if (axis + 1 < axes) {
            const auto length = static_cast<unsigned>(lengths[axis]);
            whole = static_cast<unsigned>(i) / length;
            here = static_cast<unsigned>(i) - static_cast<unsigned>(whole) * length;
        }
        at.first += static_cast<long long>(here) * first[axis];
        at.second += static_cast<long long>(here) * second[axis];
        i = whole;
    }
    return at;
}

// One segment of one result: its number, offsets and number of elements.
struct Segment {
    unsigned result, count;
    unsigned long long begin;
    Offsets at;  // the result's offsets in x and out

    __device__ Segment(const Reduced& a, unsigned unit)
        : result(a.segments == 1 ? unit : unit / a.segments),
          begin(static_cast<unsigned long long>(unit - result * a.segments) * a.segment_length),
          at(offsets(result, a.kept, a.kept_lengths, a.kept_x, a.kept_out)) {
        count = static_cast<unsigned>(
            min(a.length - begin, static_cast<unsigned long long>(a.segment_length)));
    }
};

// Loads several elements of one type; all loads are in flight together.
template <class C, int n>
__device__ void load_several(int element, const unsigned long long (&addresses)[n], C (&out)[n]) {
    switch (element) {
#define CUPOLA_ROW(name, code, computed_type)                                  \
    case code:                                                                 \
        for (int i = 0; i < n; ++i)                                            \
            out[i] = convert<C>(*reinterpret_cast<const name*>(addresses[i])); \
        break;
        CUPOLA_ELEMENTS(CUPOLA_ROW)
#undef CUPOLA_ROW
    }
}

// Kernels with a different accumulator type can store that type, the element type and truth values.
// Other kernels store every type.
template <class S, class A>
__device__ void store_result(const Reduced& a, unsigned long long address, A value) {
    if constexpr (rounds<A>) {
        if (a.divide) value = arithmetic::divide::of(value, convert<A>(static_cast<f64>(a.divide)));
    } else {
        if (a.divide) {
            const f64 mean = static_cast<f64>(value) / static_cast<f64>(a.divide);
            if constexpr (std::is_same_v<S, A>)
                store_any(a.out_element, address, mean);
            else
                *reinterpret_cast<f64*>(address) = mean;
            return;
        }
    }
    if constexpr (std::is_same_v<S, A>) {
        store_any(a.out_element, address, value);
    } else if (a.out_element == Stored<S>::code) {
        *reinterpret_cast<S*>(address) = store<S>(value);
    } else if (a.out_element == elements::b8) {
        *reinterpret_cast<b8*>(address) = store<b8>(value);
    } else {
        *reinterpret_cast<A*>(address) = value;
    }
}

template <class S, class A>
__device__ void finish(const Reduced& a, unsigned long long unit, long long offset, A value) {
    if (a.out)
        store_result<S>(a, a.out + offset, value);
    else
        reinterpret_cast<A*>(a.partial)[unit] = value;
}

}  // namespace cupola::arrays

#define CUPOLA_REDUCE(kernel, function, name)                                \
    extern "C" __global__ void __launch_bounds__(cupola::arrays::reducers)   \
        kernel##_##name(const __grid_constant__ cupola::arrays::Reduced a) { \
        cupola::arrays::function<cupola::arrays::name>(a);                   \
    }
