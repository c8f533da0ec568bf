// csrc/kernels/array/strided.cuh - operations on strided elements of one type.
#pragma once

#include "flat.cuh"

namespace cupola::arrays {

struct Steps {
    long long out, x, y;  // bytes from the first element
};

// The offsets of the i-th elements. The loop is unrolled so that axes have constant addresses.
__device__ inline Steps steps_to(const Strided& a, unsigned i) {
    Steps to{0, 0, 0};
#pragma unroll
    for (int axis = 0; axis < few_axes; ++axis) {
        if (axis >= a.axes) break;
        const unsigned whole = axis + 1 < a.axes ? quotient(i, a.lengths[axis]) : 0;
        const int here = static_cast<int>(i - whole * a.lengths[axis].by);
        to.out += static_cast<long long>(here) * a.out_steps[axis];
        to.x += static_cast<long long>(here) * a.x_steps[axis];
        to.y += static_cast<long long>(here) * a.y_steps[axis];
        i = whole;
    }
    return to;
}

// A thread has four elements, a block's width apart. Their loads are in flight together, and the
// operation is chosen once.
template <class Class, class S>
__device__ void strided(const Strided& a) {
    using R = typename Class::template Result<S>;
    constexpr int n = strided_at_once;
    const bool has_x = a.form != first_scalar, has_y = a.form != second_scalar;
    const unsigned first = blockIdx.x * (blockDim.x * n) + threadIdx.x;
    Pack<S, n> x[1]{}, y[1]{};
    R* to[n];
#pragma unroll
    for (int j = 0; j < n; ++j) {
        const unsigned i = first + j * blockDim.x;
        to[j] = nullptr;
        if (i >= a.count) continue;
        const Steps steps = steps_to(a, i);
        to[j] = reinterpret_cast<R*>(a.out + steps.out);
        if (has_x) x[0].at[j] = *reinterpret_cast<const S*>(a.x + steps.x);
        if (has_y) y[0].at[j] = *reinterpret_cast<const S*>(a.y + steps.y);
    }
    Pack<R, n> out[1];
    compute<Class, S>(a, x, y, out);
#pragma unroll
    for (int j = 0; j < n; ++j)
        if (to[j]) *to[j] = out[0].at[j];
}

}  // namespace cupola::arrays

// The kernels of one stored type: predicates and arithmetic.
#define CUPOLA_STRIDED_PREDICATE(name)                                                \
    extern "C" __global__ void __launch_bounds__(256)                                 \
        strided_predicate_##name(const __grid_constant__ cupola::arrays::Strided a) { \
        cupola::arrays::strided<cupola::arrays::Predicate, cupola::arrays::name>(a);  \
    }
#define CUPOLA_STRIDED(name)                                                           \
    extern "C" __global__ void __launch_bounds__(256)                                  \
        strided_arithmetic_##name(const __grid_constant__ cupola::arrays::Strided a) { \
        cupola::arrays::strided<cupola::arrays::Arithmetic, cupola::arrays::name>(a);  \
    }                                                                                  \
    CUPOLA_STRIDED_PREDICATE(name)
