// csrc/cpu/failure.hpp - how code under an entry point says which CUresult the call ends with.
#pragma once

#include "cpu/cuda.hpp"

namespace cupola::cpu {

// Thrown by the nouns, caught by `entry`, never seen by the caller of a cu* function.
struct Failure {
    CUresult code;
};

[[noreturn]] inline void fail(CUresult code) { throw Failure{code}; }

inline void require(bool condition, CUresult code = CUDA_ERROR_INVALID_VALUE) {
    if (__builtin_expect(!condition, 0)) fail(code);
}

}  // namespace cupola::cpu
