// csrc/cpu/device/launch/launch.cpp - checks a launch, and copies the arguments of cuLaunchKernel.
#include "cpu/device/launch/launch.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/device.hpp"
#include "cpu/device/module/module.hpp"
#include "cpu/device/module/occupancy.hpp"

namespace cupola::cpu {
namespace {

void check(const LaunchShape& shape, const Function& function) {
    const Dim3 &grid = shape.grid, &block = shape.block;
    require(grid.x && grid.y && grid.z && block.x && block.y && block.z);
    require(grid.x <= Capability::grid_x && grid.y <= Capability::grid_yz &&
            grid.z <= Capability::grid_yz);
    require(block.x <= Capability::block_xy && block.y <= Capability::block_xy &&
            block.z <= Capability::block_z);
    const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
    require(threads <= Capability::threads_per_block);
    const Kernel& kernel = function.kernel();
    require(threads <= kernel.max_threads());
    const Dim3 required = kernel.required_block();
    if (required.x)
        require(block.x == required.x && block.y == required.y && block.z == required.z);
    require(shape.shared <= function.attributes.dynamic_limit(),
            shape.cooperative ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE : CUDA_ERROR_INVALID_VALUE);
}

// All blocks of a cooperative grid must be resident at once.
void check_cooperative(const LaunchShape& shape, const Function& function,
                       const std::optional<Dim3>& cluster) {
    const Device& device = function.device();
    require(*device.attribute(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH) != 0,
            CUDA_ERROR_NOT_SUPPORTED);
    const auto threads = static_cast<int>(shape.block.x * shape.block.y * shape.block.z);
    std::uint64_t resident = 0;
    if (cluster) {
        const unsigned size = cluster->x * cluster->y * cluster->z;
        resident = std::uint64_t{size} *
                   static_cast<unsigned>(active_clusters(function, size, threads, shape.shared));
    } else {
        resident = static_cast<std::uint64_t>(active_blocks(function, threads, shape.shared)) *
                   static_cast<unsigned>(device.multiprocessors());
    }
    // The product of the first two has at most 47 bits, so it is compared before the third.
    const std::uint64_t plane = std::uint64_t{shape.grid.x} * shape.grid.y;
    require(plane <= resident && plane * shape.grid.z <= resident,
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

std::vector<std::byte> from_pointers(const Function& function, void** parameters) {
    std::vector<std::byte> packed(function.parameter_bytes());
    const auto& layout = function.kernel().parameters();
    for (std::size_t i = 0; i < layout.size(); ++i) {
        require(parameters[i] != nullptr);
        std::memcpy(packed.data() + layout[i].offset, parameters[i], layout[i].size);
    }
    return packed;
}

std::vector<std::byte> from_buffer(const Function& function, void** extra) {
    const void* buffer = nullptr;
    std::size_t size = 0;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[1];
        else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1])
            size = *static_cast<const std::size_t*>(extra[1]);
        else
            fail(CUDA_ERROR_INVALID_VALUE);
    }
    std::vector<std::byte> packed(function.parameter_bytes());
    // As in NVIDIA's driver, a short buffer is accepted and padded with zeros.
    size = std::min(size, packed.size());
    require(buffer || size == 0);
    if (size) std::memcpy(packed.data(), buffer, size);
    return packed;
}

}  // namespace

KernelCall kernel_call(std::shared_ptr<Function> checked, const LaunchShape& shape,
                       std::shared_ptr<Context> context, void** parameters, void** extra) {
    KernelCall call = kernel_call(std::move(checked), shape, std::move(context));
    const Function& function = *call.function;
    require(!(parameters && extra && *extra != CU_LAUNCH_PARAM_END));
    require(parameters || extra || function.parameter_bytes() == 0);
    if (parameters)
        call.parameters = from_pointers(function, parameters);
    else if (extra)
        call.parameters = from_buffer(function, extra);
    return call;
}

KernelCall kernel_call(std::shared_ptr<Function> checked, const LaunchShape& shape,
                       std::shared_ptr<Context> context) {
    KernelCall call;
    call.function = std::move(checked);
    const Function& function = *call.function;
    require(function.context() == context.get(), CUDA_ERROR_INVALID_HANDLE);
    check(shape, function);
    const std::optional<Dim3> cluster = cluster_of(shape, function);
    if (shape.cooperative) check_cooperative(shape, function, cluster);
    call.context = std::move(context);
    call.shape = shape;
    call.shape.cluster = cluster.value_or(Dim3{1, 1, 1});
    call.shape.cluster_given = cluster.has_value();
    call.shape.events.clear();  // these attributes belong to the launch, not to the kernel
    return call;
}

}  // namespace cupola::cpu
