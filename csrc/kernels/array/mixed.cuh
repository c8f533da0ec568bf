// csrc/kernels/array/mixed.cuh - operations on elements that lie anywhere and are of any type.
#pragma once

#include "flat.cuh"

namespace cupola::arrays {

template <class C>
__device__ C load_any(int element, unsigned long long address) {
    switch (element) {
#define CUPOLA_ROW(name, code, computed_type) \
    case code:                                \
        return convert<C>(*reinterpret_cast<const name*>(address));
        CUPOLA_ELEMENTS(CUPOLA_ROW)
#undef CUPOLA_ROW
    }
    return C{};
}

template <class C>
__device__ void store_any(int element, unsigned long long address, C value) {
    switch (element) {
#define CUPOLA_ROW(name, code, computed_type)                   \
    case code:                                                  \
        *reinterpret_cast<name*>(address) = store<name>(value); \
        break;
        CUPOLA_ELEMENTS(CUPOLA_ROW)
#undef CUPOLA_ROW
    }
}

struct Places {
    unsigned long long out, x, y;
};

// Where the i-th elements lie. The loop is unrolled so that the axes are read from constant places.
__device__ inline Places places(const Mixed& a, unsigned i) {
    Places at{a.out.address, a.x.address, a.y.address};
#pragma unroll
    for (int axis = 0; axis < most_axes; ++axis) {
        if (axis >= a.axes) break;
        const Divisor& length = a.lengths[axis];
        const unsigned whole =
            axis + 1 < a.axes ? (__umulhi(i, length.factor) + i) >> length.shift : 0;
        const auto here = static_cast<long long>(i - whole * length.by);
        at.out += here * a.out.strides[axis];
        at.x += here * a.x.strides[axis];
        at.y += here * a.y.strides[axis];
        i = whole;
    }
    return at;
}

template <class C>
__device__ C operand(const Operand& operand, unsigned long long address, C scalar) {
    return operand.element == elements::none ? scalar : load_any<C>(operand.element, address);
}

__device__ inline bool has_sign(int element) {
    return element >= elements::i8 && element <= elements::i64;
}

// Any grid and block along x.
template <class Class, class C>
__device__ void mixed(const Mixed& a) {
    const C scalar = scalar_of<C>(a.scalar);
    for (auto i = first_thread(); i < a.count; i += all_threads()) {
        const Places at = places(a, static_cast<unsigned>(i));
        C x = operand(a.x, at.x, scalar), y = operand(a.y, at.y, scalar);
        if constexpr (std::is_same_v<Class, Predicate>) {
            if constexpr (std::is_same_v<C, u64>) {
                // One with a sign and one without: what is below zero is less than all others.
                const bool below_x = has_sign(a.x.element) && x >> 63;
                const bool below_y = has_sign(a.y.element) && y >> 63;
                if (below_x != below_y) x = !below_x, y = !below_y;
            }
        }
        std::conditional_t<std::is_same_v<Class, Predicate>, i32, C> result{};
        Class::template choose<C>(a.operation,
                                  [&](auto operation) { result = operation.of(x, y); });
        store_any(a.out.element, at.out, result);
    }
}

}  // namespace cupola::arrays

// The kernels of one type that is computed in.
#define CUPOLA_MIXED(name)                                                          \
    extern "C" __global__ void __launch_bounds__(256)                               \
        mixed_arithmetic_##name(const __grid_constant__ cupola::arrays::Mixed a) {  \
        cupola::arrays::mixed<cupola::arrays::Arithmetic, cupola::arrays::name>(a); \
    }                                                                               \
    extern "C" __global__ void __launch_bounds__(256)                               \
        mixed_predicate_##name(const __grid_constant__ cupola::arrays::Mixed a) {   \
        cupola::arrays::mixed<cupola::arrays::Predicate, cupola::arrays::name>(a);  \
    }
