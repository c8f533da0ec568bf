// csrc/cpu/launch.hpp - launching a kernel: checks, parameters, and the work put on the stream.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "cpu/cuda.hpp"
#include "cpu/execute.hpp"
#include "cpu/operation.hpp"

namespace cupola::cpu {

class Context;
class Event;
class Function;

struct LaunchShape {
    Dim3 grid, block, cluster;
    std::uint32_t shared = 0;
    bool cluster_given = false;  // else the kernel's own, or clusters of one block
    bool cooperative = false;
    std::optional<int> priority{};                 // else the stream's
    std::vector<std::shared_ptr<Event>> events{};  // recorded behind the grid
};

// A kernel with all that its launch takes: what a stream runs, and what a graph's node keeps. The
// shape's cluster is the one it has, of one block where it was not given.
struct KernelCall {
    std::shared_ptr<Function> function;  // and with it the image
    std::shared_ptr<Context> context;
    LaunchShape shape;
    std::vector<std::byte> parameters;
    std::map<CUlaunchAttributeID, CUlaunchAttributeValue>
        attributes{};  // of a node, to be read back
};

// Checked as cuLaunchKernel checks.
KernelCall kernel_call(CUfunction function, const LaunchShape& shape,
                       std::shared_ptr<Context> context, void** parameters, void** extra);
std::unique_ptr<Operation> grid_operation(KernelCall call, int priority);

// `parameters` and `extra` are the two ways of cuLaunchKernel to pass arguments.
CUresult launch(CUfunction function, const LaunchShape& shape, CUstream stream, void** parameters,
                void** extra);

// launch_attribute.cpp: a cuLaunchKernelEx's shape and attributes. A hint is checked and has no
// effect; what cannot be done is NOT_SUPPORTED.
LaunchShape shape_of(const CUlaunchConfig& config);

// The cluster that a launch of this shape has. INVALID_CLUSTER_SIZE where it does not suit the
// kernel or the grid. Nothing where nobody asked for one: then each block is one.
std::optional<Dim3> cluster_of(const LaunchShape& shape, const Function& function);

}  // namespace cupola::cpu
