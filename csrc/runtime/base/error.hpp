// csrc/runtime/base/error.hpp - the one exception of the library, and where it becomes a C status.
#pragma once

#include <string>
#include <utility>

#include "cupola/library.h"

namespace cupola {

struct Error {
    cupola_status status;
    std::string text;
    int code = 0;             // CUresult, of a failed driver call
    std::string name{};       // "CUDA_ERROR_..."
    std::string log{};        // output of the driver's JIT compiler
    std::string assertion{};  // as cupola_output_assertion
};

// The exception in flight as a value. Exceptions of other libraries are rethrown.
Error current_error();

// Stores the exception in flight for cupola_last_error() of this thread; returns its status.
int keep_current_exception() noexcept;
Error& last_error() noexcept;  // the last error of this thread

// Every C function runs its body in this: no exception leaves it.
template <class F>
int guard(F&& body) noexcept {
    try {
        std::forward<F>(body)();
        return CUPOLA_SUCCESS;
    } catch (...) {
        return keep_current_exception();
    }
}

[[noreturn, gnu::cold]] void fail(cupola_status status, std::string text);
[[noreturn, gnu::cold]] void fail_null(const char* name);

// Checks required pointers and handles. Inline: a launch checks several.
template <class T>
[[gnu::always_inline]] inline T* check_not_null(T* pointer, const char* name) {
    if (__builtin_expect(!pointer, 0)) fail_null(name);
    return pointer;
}

}  // namespace cupola
