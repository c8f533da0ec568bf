// csrc/dropin/cudart/types.hpp - the types of the driver and of the runtime, and the form in which
// functions are exported.
//
// One set of sources makes libcudart.so.12 and libcudart.so.13. Functions whose parameters differ
// between the two are in versions/ and stream/versions/, which include this header. All
// others include cudart.hpp, so that the compiler compares them with NVIDIA's declarations.
#pragma once

#include <cuda.h>
#include <driver_types.h>
#include <surface_types.h>
#include <texture_types.h>
#include <vector_types.h>

#define CUPOLA_CUDART extern "C" __attribute__((visibility("default")))

namespace cupola::cudart {

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
constexpr bool per_thread = true;
#else
constexpr bool per_thread = false;
#endif

}  // namespace cupola::cudart
