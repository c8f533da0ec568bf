// csrc/kernels/algorithms/lookback.cuh - words that blocks of one grid send to each other.
#pragma once

#include <cstdint>

namespace cupola::algorithms {

// The word contains the data itself, so no other memory access has to be ordered.
__device__ inline std::uint32_t receive(const std::uint32_t* word) {
    std::uint32_t value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
}
__device__ inline void send(std::uint32_t* word, std::uint32_t value) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}
__device__ inline std::uint64_t receive(const std::uint64_t* word) {
    std::uint64_t value;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
}
__device__ inline void send(std::uint64_t* word, std::uint64_t value) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

}  // namespace cupola::algorithms
