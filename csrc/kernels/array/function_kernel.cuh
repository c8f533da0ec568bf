// csrc/kernels/array/function_kernel.cuh - the kernel of one function: any elements of its type.
#pragma once

#include "complex_function.cuh"
#include "mixed.cuh"

namespace cupola::arrays {

// What is computed in float32 may be stored as float16. All other types are cast before.
template <class C>
__device__ C load_own(int element, unsigned long long address) {
    if constexpr (std::is_same_v<C, f32>)
        if (element == elements::f16) return widen(*reinterpret_cast<const f16*>(address));
    return *reinterpret_cast<const C*>(address);
}
template <class C>
__device__ void store_own(int element, unsigned long long address, C value) {
    if constexpr (std::is_same_v<C, f32>)
        if (element == elements::f16) {
            *reinterpret_cast<f16*>(address) = store<f16>(value);
            return;
        }
    *reinterpret_cast<C*>(address) = value;
}

// Any grid and block along x. Without axes all elements are of type C and in order from a multiple
// of 16 bytes on: then that much moves at once. Either way the function's code is there once, and
// what it is done to goes round in registers.
template <class F, class C>
__device__ void function_kernel(const Mixed& a) {
    using R = typename F::template Result<C>;
    constexpr unsigned n = 16 / sizeof(C);
    const C scalar = scalar_of<C>(a.scalar);
    const bool has_x = a.x.element != elements::none, has_y = a.y.element != elements::none;
    const unsigned long long packs = a.axes == 0 ? a.count / n : 0;
    const unsigned long long units = packs + (a.count - packs * n);
    for (auto unit = first_thread(); unit < units; unit += all_threads()) {
        const bool pack = unit < packs;
        const unsigned long long at = pack ? unit * n : packs * n + (unit - packs);
        Places place{a.out.address + at * sizeof(R), a.x.address + at * sizeof(C),
                     a.y.address + at * sizeof(C)};
        if (a.axes) place = places(a, static_cast<unsigned>(at));
        Pack<C, n> x{}, y{};
        Pack<R, n> out{};
        if (has_x) {
            if (pack)
                x = load_once<Pack<C, n>>(place.x);
            else
                x.at[0] = load_own<C>(a.x.element, place.x);
        }
        if (has_y) {
            if (pack)
                y = load_once<Pack<C, n>>(place.y);
            else
                y.at[0] = load_own<C>(a.y.element, place.y);
        }
#pragma unroll 1
        for (unsigned i = pack ? n : 1; i; --i) {
            const R result = F::of(has_x ? x.at[0] : scalar, has_y ? y.at[0] : scalar);
#pragma unroll
            for (unsigned j = 1; j < n; ++j) {
                x.at[j - 1] = x.at[j];
                y.at[j - 1] = y.at[j];
                out.at[j - 1] = out.at[j];
            }
            out.at[n - 1] = result;
        }
        if (pack)
            store_once(place.out, out);
        else
            store_own<R>(a.out.element, place.out, out.at[n - 1]);
    }
}

}  // namespace cupola::arrays

#define CUPOLA_FUNCTION_KERNEL(function_name, type)                               \
    extern "C" __global__ void __launch_bounds__(256)                             \
        function_name##_##type(const __grid_constant__ cupola::arrays::Mixed a) { \
        using namespace cupola::arrays;                                           \
        function_kernel<function::function_name, type>(a);                        \
    }
