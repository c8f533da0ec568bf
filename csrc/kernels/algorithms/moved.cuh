// csrc/kernels/algorithms/moved.cuh - words that kernels move, and how threads share elements.
#pragma once

#include <cstdint>

// WORD(bits, type)
#define CUPOLA_WORDS(WORD)  \
    WORD(8, std::uint8_t)   \
    WORD(16, std::uint16_t) \
    WORD(32, std::uint32_t) \
    WORD(64, uint2)         \
    WORD(128, uint4)

namespace cupola::algorithms {

using i32 = std::int32_t;
using i64 = std::int64_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// The first element of a thread, and the step to its next one.
template <class N>
__device__ N first() {
    return static_cast<N>(blockIdx.x) * blockDim.x + threadIdx.x;
}
template <class N>
__device__ N threads() {
    return static_cast<N>(gridDim.x) * blockDim.x;
}

}  // namespace cupola::algorithms
