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

// Any grid and block along x; a thread has some elements at a time. Without axes all are of type C
// and in order from a multiple of 16 bytes on: then they move at once. Else they are a block's
// width apart. Either way the function's code is there once for each of them: to go round in it
// would cost a third of the pace, which memory should set.
template <class F, class C>
__device__ void function_kernel(const Mixed& a) {
    using R = typename F::template Result<C>;
    constexpr unsigned n = function_at_once(sizeof(C), is_complex<C>);
    const C scalar = scalar_of<C>(a.scalar);
    const bool has_x = a.x.element != elements::none, has_y = a.y.element != elements::none;
    const bool flat = a.axes == 0;
    const unsigned step = flat ? 1 : blockDim.x;
    const unsigned long long tile = static_cast<unsigned long long>(blockDim.x) * n;
    const unsigned long long lead = blockIdx.x * tile + threadIdx.x * (flat ? n : 1);
    for (auto first = lead; first < a.count; first += gridDim.x * tile) {
        Places place[n];
        Pack<C, n> x{}, y{};
        const bool pack = flat && first + n <= a.count;
        if (pack) {
            place[0] = {a.out.address + first * sizeof(R), 0, 0};
            if (has_x) x = load_pack<Pack<C, n>>(a.x.address + first * sizeof(C));
            if (has_y) y = load_pack<Pack<C, n>>(a.y.address + first * sizeof(C));
        } else {
#pragma unroll
            for (unsigned j = 0; j < n; ++j) {
                const unsigned long long at = first + j * step;
                if (at >= a.count) break;
                place[j] = {a.out.address + at * sizeof(R), a.x.address + at * sizeof(C),
                            a.y.address + at * sizeof(C)};
                if (!flat) place[j] = places(a, static_cast<unsigned>(at));
                if (has_x) x.at[j] = load_own<C>(a.x.element, place[j].x);
                if (has_y) y.at[j] = load_own<C>(a.y.element, place[j].y);
            }
        }
        Pack<R, n> out;
#pragma unroll
        for (unsigned j = 0; j < n; ++j)
            out.at[j] = F::of(has_x ? x.at[j] : scalar, has_y ? y.at[j] : scalar);
        if (pack) {
            store_pack(place[0].out, out);
        } else {
#pragma unroll
            for (unsigned j = 0; j < n; ++j)
                if (first + j * step < a.count)
                    store_own<R>(a.out.element, place[j].out, out.at[j]);
        }
    }
}

}  // namespace cupola::arrays

#define CUPOLA_FUNCTION_KERNEL(function_name, type)                               \
    extern "C" __global__ void __launch_bounds__(256)                             \
        function_name##_##type(const __grid_constant__ cupola::arrays::Mixed a) { \
        using namespace cupola::arrays;                                           \
        function_kernel<function::function_name, type>(a);                        \
    }
