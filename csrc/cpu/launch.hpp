// csrc/cpu/launch.hpp - launching a kernel: checks, parameters, and the work put on the stream.
#pragma once

#include "cpu/cuda.hpp"
#include "cpu/execute.hpp"

namespace cupola::cpu {

struct LaunchShape {
    Dim3 grid, block, cluster;
    std::uint32_t shared = 0;
};

// `parameters` and `extra` are the two ways of cuLaunchKernel to pass arguments.
CUresult launch(CUfunction function, const LaunchShape& shape, CUstream stream, void** parameters,
                void** extra);
// What cuLaunchKernelEx's attributes ask for: into `shape`, or NOT_SUPPORTED.
void read_attributes(const CUlaunchConfig& config, LaunchShape& shape);

}  // namespace cupola::cpu
