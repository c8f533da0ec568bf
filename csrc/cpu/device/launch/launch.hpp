// csrc/cpu/device/launch/launch.hpp - kernel launches: checks, parameters, and the work in the
// stream.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "cpu/device/base/cuda.hpp"
#include "cpu/device/base/operation.hpp"
#include "cpu/interpreter/execute.hpp"

namespace cupola::cpu {

class Context;
class Driver;
class Event;
class Function;
class GraphRun;

struct LaunchShape {
    Dim3 grid, block, cluster;
    std::uint32_t shared = 0;
    bool cluster_given = false;  // otherwise the kernel's cluster shape, or one block
    bool cooperative = false;
    std::optional<int> priority{};                 // otherwise the stream's
    std::vector<std::shared_ptr<Event>> events{};  // recorded after the grid
};

// A kernel with the arguments of its launch, for a stream or a graph node. The shape contains the
// final cluster, which is one block by default.
struct KernelCall {
    std::shared_ptr<Function> function;  // also keeps the image alive
    std::shared_ptr<Context> context;
    LaunchShape shape;
    std::vector<std::byte> parameters;
    std::map<CUlaunchAttributeID, CUlaunchAttributeValue> attributes{};  // stored for a node
};

// Checks the launch like cuLaunchKernel, which passes arguments in `parameters` or in `extra`.
KernelCall kernel_call(std::shared_ptr<Function> function, const LaunchShape& shape,
                       std::shared_ptr<Context> context, void** parameters, void** extra);
// The checks of a launch whose arguments follow.
KernelCall kernel_call(std::shared_ptr<Function> function, const LaunchShape& shape,
                       std::shared_ptr<Context> context);
// `run`: of the graph with the kernel; null outside of graphs whose kernels launch graphs.
std::unique_ptr<Operation> grid_operation(KernelCall call, int priority,
                                          std::shared_ptr<GraphRun> run = nullptr);

// The shape and the attributes of cuLaunchKernelEx (launch_attribute.cpp). Hints are checked and
// have no effect. Throws NOT_SUPPORTED for an attribute that this device does not support.
LaunchShape shape_of(const Driver& driver, const CUlaunchConfig& config);

// The cluster shape of a launch; nothing if neither the launch nor the kernel has one. Throws
// INVALID_CLUSTER_SIZE if it does not match the kernel or the grid.
std::optional<Dim3> cluster_of(const LaunchShape& shape, const Function& function);

}  // namespace cupola::cpu
