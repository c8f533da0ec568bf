// csrc/kernels/array/function_kernel.cuh - the kernel of one function, for strided elements of its
// type.
#pragma once

#include "complex_function.cuh"
#include "mixed.cuh"

namespace cupola::arrays {

// Functions of float32 also load float16. Other types are cast by an earlier kernel.
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

// Without axes, the elements have type C, are contiguous and aligned to 16 bytes. Then a thread
// loads a pack and computes its elements in parallel. Otherwise, and in the last tile, a thread
// computes one element after the other, a block's width apart.
template <class F, class C>
__device__ void function_kernel(const Mixed& a) {
    using R = typename F::template Result<C>;
    constexpr unsigned n = function_at_once(sizeof(C), is_complex<C>);
    const C scalar = scalar_of<C>(a.scalar);
    const bool has_x = a.x.element != elements::none, has_y = a.y.element != elements::none;
    const bool flat = a.axes == 0;
    constexpr unsigned tile = threads * n;
    const unsigned long long base = static_cast<unsigned long long>(blockIdx.x) * tile;
    if constexpr (n > 1) {
        if (flat && base + tile <= a.count) {
            Pack<C, n> x{}, y{};
            if (has_x) x = load_pack<Pack<C, n>>(a.x.address + base * sizeof(C), threadIdx.x);
            if (has_y) y = load_pack<Pack<C, n>>(a.y.address + base * sizeof(C), threadIdx.x);
            Pack<R, n> out;
#pragma unroll
            for (unsigned j = 0; j < n; ++j)
                out.at[j] = F::of(has_x ? x.at[j] : scalar, has_y ? y.at[j] : scalar);
            store_pack(a.out.address + base * sizeof(R), threadIdx.x, out);
            return;
        }
    }
    const auto end = min(base + tile, a.count);
#pragma unroll 1
    for (unsigned long long at = base + threadIdx.x; at < end; at += threads) {
        Places place{a.out.address + at * sizeof(R), a.x.address + at * sizeof(C),
                     a.y.address + at * sizeof(C)};
        if (!flat) place = places(a, static_cast<unsigned>(at));
        const C x = has_x ? load_own<C>(a.x.element, place.x) : scalar;
        const C y = has_y ? load_own<C>(a.y.element, place.y) : scalar;
        store_own<R>(a.out.element, place.out, F::of(x, y));
    }
}

}  // namespace cupola::arrays

#define CUPOLA_FUNCTION_KERNEL(function_name, type)                               \
    extern "C" __global__ void __launch_bounds__(cupola::arrays::threads)         \
        function_name##_##type(const __grid_constant__ cupola::arrays::Mixed a) { \
        using namespace cupola::arrays;                                           \
        function_kernel<function::function_name, type>(a);                        \
    }
