// csrc/dropin/cudart/error.cpp - the thread's last error, and names and texts of errors.
#include "dropin/cudart/cudart.hpp"
#include "platform/runtime_error.hpp"

using namespace cupola::cudart;
using cupola::runtime_error::find_error;

// Without a usable driver, both functions return the reason, as every call does.
CUPOLA_CUDART cudaError_t cudaGetLastError() {
    if (const cudaError_t error = Runtime::get().start(); error != cudaSuccess) return error;
    const cudaError_t last = this_thread.last;
    this_thread.last = cudaSuccess;
    return last;
}

CUPOLA_CUDART cudaError_t cudaPeekAtLastError() {
    const cudaError_t error = Runtime::get().start();
    return error != cudaSuccess ? error : this_thread.last;
}

CUPOLA_CUDART const char* cudaGetErrorName(cudaError_t error) { return find_error(error).name; }

CUPOLA_CUDART const char* cudaGetErrorString(cudaError_t error) { return find_error(error).text; }
