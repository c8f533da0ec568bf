// tests/cudart/cuda/check.cuh - checks of the programs in this folder: the first that fails ends
// the program.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(condition)                                                \
    do {                                                                \
        if (!(condition)) {                                             \
            std::printf("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                               \
        }                                                               \
    } while (0)

// A call of the runtime that must succeed.
#define CUDA(call)                                                                   \
    do {                                                                             \
        const cudaError_t result = (call);                                           \
        if (result != cudaSuccess) {                                                 \
            std::printf("%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, result); \
            std::exit(1);                                                            \
        }                                                                            \
    } while (0)
