// csrc/cpu/failure.hpp - the exception that carries the CUresult of a call.
#pragma once

#include "cpu/cuda.hpp"

namespace cupola::cpu {

// `entry` catches it, so it never reaches the caller of a cu* function.
struct Failure {
    CUresult code;
};

[[noreturn]] inline void fail(CUresult code) { throw Failure{code}; }

inline void require(bool condition, CUresult code = CUDA_ERROR_INVALID_VALUE) {
    if (__builtin_expect(!condition, 0)) fail(code);
}

}  // namespace cupola::cpu
