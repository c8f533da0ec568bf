// csrc/cpu/device/base/nvidia_runtime.hpp - the notice to programs that use NVIDIA's CUDA runtime.
#pragma once

#include "cpu/device/base/cuda.hpp"

namespace cupola::cpu {

// NVIDIA's runtime asks for private tables of NVIDIA's driver, without which each of its calls
// fails. Many programs check no call, so the first request writes one line to standard error.
// `caller`: an address in the library that asks.
void tell_nvidia_runtime(const CUuuid& table, const void* caller);

}  // namespace cupola::cpu
