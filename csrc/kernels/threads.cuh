// csrc/kernels/threads.cuh - a thread's rank in its launch, for kernels that take any launch.
#pragma once

#include <cstddef>

// The contract of every kernel here that works on many elements. The T threads of a launch are
// numbered, x first, then y, then z. Thread r computes the elements r, r + T, r + 2T, ... So any
// grid and block give the same result, whether or not they cover the elements.
struct Ranks {
    std::size_t first, stride;
};

__device__ inline Ranks launch_ranks() {
    const std::size_t width = std::size_t{gridDim.x} * blockDim.x;
    const std::size_t height = std::size_t{gridDim.y} * blockDim.y;
    const std::size_t depth = std::size_t{gridDim.z} * blockDim.z;
    const std::size_t x = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    const std::size_t y = std::size_t{blockIdx.y} * blockDim.y + threadIdx.y;
    const std::size_t z = std::size_t{blockIdx.z} * blockDim.z + threadIdx.z;
    return {(z * height + y) * width + x, width * height * depth};
}

// A thread's rank in its block, for a kernel that gives each block one element.
__device__ inline unsigned block_thread() {
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}

__device__ inline unsigned block_threads() { return blockDim.x * blockDim.y * blockDim.z; }
