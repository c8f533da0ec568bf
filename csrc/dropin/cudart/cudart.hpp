// csrc/dropin/cudart/cudart.hpp - NVIDIA's declarations of the functions, and what their bodies
// need.
//
// Files in csrc/dropin/cudart/stream are compiled twice. With CUDA_API_PER_THREAD_DEFAULT_STREAM,
// the header renames their functions (cudaMemcpy -> cudaMemcpy_ptds), and stream 0 is the thread's
// own.
#pragma once

#include <cuda_runtime_api.h>

#include "dropin/cudart/runtime.hpp"
