// csrc/cpu/device/base/failure.hpp - the exception that carries the CUresult of a call, and its
// conversion.
#pragma once

#include <cxxabi.h>

#include <new>

#include "cpu/device/base/cuda.hpp"

namespace cupola::cpu {

// `result_of` catches it, in every cu* function, and returns `code`.
struct Failure {
    CUresult code;
};

[[noreturn]] inline void fail(CUresult code) { throw Failure{code}; }

inline void require(bool condition, CUresult code = CUDA_ERROR_INVALID_VALUE) {
    if (__builtin_expect(!condition, 0)) fail(code);
}

// Takes the code once: it may be a variable that another thread sets.
inline void require_success(CUresult code) { require(code == CUDA_SUCCESS, code); }

// Runs the body of an entry point and converts every exception to a result.
template <class Body>
CUresult result_of(Body&& body) {
    try {
        return body();
    } catch (const Failure& failure) {
        return failure.code;
    } catch (const std::bad_alloc&) {
        return CUDA_ERROR_OUT_OF_MEMORY;
    } catch (abi::__forced_unwind&) {
        throw;  // rethrown, because a cancelled thread must unwind its stack
    } catch (...) {
        return CUDA_ERROR_UNKNOWN;
    }
}

}  // namespace cupola::cpu
