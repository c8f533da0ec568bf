// csrc/kernels/array/mixed.cuh - operations on strided elements of any types.
#pragma once

#include "raw_pack.cuh"

namespace cupola::arrays {

// Loads several elements: the type is tested once, and all loads are in flight together.
template <class C, class S, int n>
__device__ void load_each(const unsigned long long (&addresses)[n], C (&values)[n]) {
    S loaded[n];
#pragma unroll
    for (int j = 0; j < n; ++j) loaded[j] = *reinterpret_cast<const S*>(addresses[j]);
#pragma unroll
    for (int j = 0; j < n; ++j) values[j] = convert<C>(loaded[j]);
}
template <class C, int n>
__device__ void load_all(int element, const unsigned long long (&addresses)[n], C (&values)[n]) {
    switch (element) {
#define CUPOLA_ROW(name, code, computed_type)  \
    case code:                                 \
        load_each<C, name>(addresses, values); \
        break;
        CUPOLA_ELEMENTS(CUPOLA_ROW)
#undef CUPOLA_ROW
    }
}
template <class S, class C, int n>
__device__ void store_each(const unsigned long long (&addresses)[n], const C (&values)[n],
                           unsigned long long count) {
#pragma unroll
    for (int j = 0; j < n; ++j)
        if (j < count) *reinterpret_cast<S*>(addresses[j]) = store<S>(values[j]);
}
template <class C, int n>
__device__ void store_all(int element, const unsigned long long (&addresses)[n],
                          const C (&values)[n], unsigned long long count) {
    switch (element) {
#define CUPOLA_ROW(name, code, computed_type)       \
    case code:                                      \
        store_each<name>(addresses, values, count); \
        break;
        CUPOLA_ELEMENTS(CUPOLA_ROW)
#undef CUPOLA_ROW
    }
}

// Stores one element.
template <class C>
__device__ void store_any(int element, unsigned long long address, C value) {
    const unsigned long long addresses[1] = {address};
    const C values[1] = {value};
    store_all(element, addresses, values, 1);
}

struct Places {
    unsigned long long out, x, y;
};

// The addresses of the i-th elements. The loop is unrolled so that axes have constant addresses.
__device__ inline Places places(const Mixed& a, unsigned i) {
    Places at{a.out.address, a.x.address, a.y.address};
    if (a.is_line) {  // the usual case, which takes a third of the instructions
        const long long here = i;
        return {at.out + here * static_cast<int>(a.out.strides[0]),
                at.x + here * static_cast<int>(a.x.strides[0]),
                at.y + here * static_cast<int>(a.y.strides[0])};
    }
#pragma unroll
    for (int axis = 0; axis < most_axes; ++axis) {
        if (axis >= a.axes) break;
        const Divisor& length = a.lengths[axis];
        const unsigned whole = axis + 1 < a.axes ? quotient(i, length) : 0;
        const auto here = static_cast<long long>(i - whole * length.by);
        at.out += here * a.out.strides[axis];
        at.x += here * a.x.strides[axis];
        at.y += here * a.y.strides[axis];
        i = whole;
    }
    return at;
}

__device__ inline bool has_sign(int element) {
    return element >= elements::i8 && element <= elements::i64;
}

// A thread has several elements and tests types and operation once for all: this kernel is bound by
// instructions. The elements are contiguous if packs can be loaded, otherwise a block's width
// apart.
template <class Class, class C>
__device__ void mixed(const Mixed& a) {
    constexpr int n = mixed_at_once(sizeof(C));
    const C scalar = scalar_of<C>(a.scalar);
    const unsigned last = static_cast<unsigned>(a.count) - 1;
    const unsigned step = a.is_packed ? 1 : blockDim.x;
    const unsigned first = blockIdx.x * (blockDim.x * n) + threadIdx.x * (a.is_packed ? n : 1);
    if (first > last) return;
    const bool whole = a.is_packed && last - first >= n - 1;
    unsigned long long out[n];
    C x[n], y[n];
#pragma unroll
    for (int j = 0; j < n; ++j) x[j] = y[j] = scalar;
    if (whole) {
        Held from_x, from_y;
        const unsigned long long before = first;
        load_bytes(a.x.size * n, a.x.address + before * a.x.size, from_x);
        load_bytes(a.y.size * n, a.y.address + before * a.y.size, from_y);
        unpack_all(a.x.element, from_x, x);
        unpack_all(a.y.element, from_y, y);
    } else {
        unsigned long long from_x[n], from_y[n];
#pragma unroll
        for (int j = 0; j < n; ++j) {
            // A thread beyond the end repeats its first element, because other elements may already
            // be overwritten.
            const unsigned i = first + j * step;
            const Places at = places(a, i <= last ? i : first);
            out[j] = at.out;
            from_x[j] = at.x;
            from_y[j] = at.y;
        }
        load_all(a.x.element, from_x, x);
        load_all(a.y.element, from_y, y);
    }
    if constexpr (std::is_same_v<Class, Predicate> && std::is_same_v<C, u64>) {
        // One operand is signed, one unsigned: a negative number is less than every unsigned one.
#pragma unroll
        for (int j = 0; j < n; ++j) {
            const bool below_x = has_sign(a.x.element) && x[j] >> 63;
            const bool below_y = has_sign(a.y.element) && y[j] >> 63;
            if (below_x != below_y) x[j] = !below_x, y[j] = !below_y;
        }
    }
    std::conditional_t<std::is_same_v<Class, Predicate>, i32, C> results[n]{};
    Class::template choose<C>(a.operation, [&](auto operation) {
        if constexpr (takes_turns<decltype(operation), C>) {
            apply_in_loop(x, y, [&](C one, C other) { return operation.of(one, other); });
            memcpy(results, x, sizeof results);
        } else {
#pragma unroll
            for (int j = 0; j < n; ++j) results[j] = operation.of(x[j], y[j]);
        }
    });
    if (whole) {
        Held held;
        pack_all(a.out.element, results, held);
        store_bytes(a.out.size * n, a.out.address + static_cast<u64>(first) * a.out.size, held);
    } else {
        store_all(a.out.element, out, results, (last - first) / step + 1);
    }
}

}  // namespace cupola::arrays

// The kernels of one computation type; `blocks` fit a multiprocessor.
#define CUPOLA_MIXED(name, blocks)                                                  \
    extern "C" __global__ void __launch_bounds__(256, blocks)                       \
        mixed_arithmetic_##name(const __grid_constant__ cupola::arrays::Mixed a) {  \
        cupola::arrays::mixed<cupola::arrays::Arithmetic, cupola::arrays::name>(a); \
    }                                                                               \
    extern "C" __global__ void __launch_bounds__(256, blocks)                       \
        mixed_predicate_##name(const __grid_constant__ cupola::arrays::Mixed a) {   \
        cupola::arrays::mixed<cupola::arrays::Predicate, cupola::arrays::name>(a);  \
    }
