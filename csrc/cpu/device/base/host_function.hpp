// csrc/cpu/device/base/host_function.hpp - calls functions of the program from a stream.
#pragma once

#include <memory>
#include <utility>

#include "cpu/device/base/cuda.hpp"
#include "cpu/device/base/operation.hpp"

namespace cupola::cpu {

// True on a thread inside a host function of a stream, where CUDA calls are not permitted.
extern thread_local bool in_host_function;

// Runs a function of the program. After finalization, Python ends a thread by unwinding its stack,
// so no handler here may catch the unwinding.
template <class Call>
void call_host(Call&& call) {
    struct Inside {
        Inside() { in_host_function = true; }
        ~Inside() { in_host_function = false; }
    } inside;
    call();
}

// A host function, unlike a callback, is not called after an error.
inline std::unique_ptr<Operation> host_operation(CUhostFn function, void* data) {
    auto operation = task([=](CUresult status) {
        if (status == CUDA_SUCCESS) call_host([&] { function(data); });
    });
    operation->host = true;
    return operation;
}

}  // namespace cupola::cpu
