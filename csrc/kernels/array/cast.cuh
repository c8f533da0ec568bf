// csrc/kernels/array/cast.cuh - casts between contiguous elements of up to 4 bytes.
//
// The mixed kernel casts all other elements. It is bound by instructions, so here a thread has more
// elements and no operation to choose.
#pragma once

#include "mixed.cuh"

namespace cupola::arrays {

template <class C>
__device__ void cast(const Mixed& a) {
    constexpr int n = cast_at_once;
    const u64 first = (static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x) * n;
    const unsigned long long from = a.x.address + first * a.x.size,
                             to = a.out.address + first * a.out.size;
    if (first + n <= a.count) {
        Held held;
        C values[n]{};
        load_bytes(a.x.size * n, from, held);
        unpack_all(a.x.element, held, values);
        pack_all(a.out.element, values, held);
        store_bytes(a.out.size * n, to, held);
        return;
    }
#pragma unroll 1
    for (u64 j = 0; first + j < a.count; ++j) {
        const unsigned long long element[1] = {from + j * a.x.size};
        C value[1]{};
        load_all(a.x.element, element, value);
        store_any(a.out.element, to + j * a.out.size, value[0]);
    }
}

}  // namespace cupola::arrays

// The kernel of one computation type.
#define CUPOLA_CAST(name)                                              \
    extern "C" __global__ void __launch_bounds__(256, 6)               \
        cast_##name(const __grid_constant__ cupola::arrays::Mixed a) { \
        cupola::arrays::cast<cupola::arrays::name>(a);                 \
    }
