// csrc/cpu/launch.hpp - launching a kernel: checks, parameters, and the work put on the stream.
#pragma once

#include <memory>
#include <vector>

#include "cpu/cuda.hpp"
#include "cpu/execute.hpp"
#include "cpu/operation.hpp"

namespace cupola::cpu {

class Context;
class Function;

struct LaunchShape {
    Dim3 grid, block, cluster;
    std::uint32_t shared = 0;
};

// A kernel with all that its launch takes: what a stream runs, and what a graph's node keeps.
struct KernelCall {
    std::shared_ptr<Function> function;  // and with it the image
    std::shared_ptr<Context> context;
    LaunchShape shape;
    std::vector<std::byte> parameters;
};

// Checked as cuLaunchKernel checks.
KernelCall kernel_call(CUfunction function, const LaunchShape& shape,
                       std::shared_ptr<Context> context, void** parameters, void** extra);
std::unique_ptr<Operation> grid_operation(KernelCall call, int priority);

// `parameters` and `extra` are the two ways of cuLaunchKernel to pass arguments.
CUresult launch(CUfunction function, const LaunchShape& shape, CUstream stream, void** parameters,
                void** extra);
// What cuLaunchKernelEx's attributes ask for: into `shape`, or NOT_SUPPORTED.
void read_attributes(const CUlaunchConfig& config, LaunchShape& shape);

}  // namespace cupola::cpu
