// csrc/cpu/launch.cpp - converts cuLaunchKernel's arguments to a grid in a stream.
#include "cpu/launch.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "cpu/context.hpp"
#include "cpu/coverage/counts.hpp"
#include "cpu/driver.hpp"
#include "cpu/held_output.hpp"
#include "cpu/library.hpp"
#include "cpu/module.hpp"
#include "cpu/occupancy.hpp"
#include "cpu/seeded_order.hpp"
#include "cpu/stream.hpp"
#include "cpu/texture_reference.hpp"
#include "platform/demangle.hpp"

namespace cupola::cpu {
namespace {

std::atomic<std::uint64_t> last_grid{0};

CUresult code_of(Fault::Kind kind) {
    switch (kind) {
        case Fault::Kind::illegal_address:
            return CUDA_ERROR_ILLEGAL_ADDRESS;
        case Fault::Kind::misaligned_address:
            return CUDA_ERROR_MISALIGNED_ADDRESS;
        case Fault::Kind::address_space:
            return CUDA_ERROR_INVALID_ADDRESS_SPACE;
        case Fault::Kind::illegal_instruction:
            return CUDA_ERROR_ILLEGAL_INSTRUCTION;
        case Fault::Kind::assertion:
            return CUDA_ERROR_ASSERT;
        case Fault::Kind::out_of_memory:
            return CUDA_ERROR_OUT_OF_MEMORY;
        case Fault::Kind::stack_overflow:
        case Fault::Kind::trap:
        case Fault::Kind::stopped:
            break;
    }
    return CUDA_ERROR_LAUNCH_FAILED;
}

struct GridOperation final : Operation {
    Grid grid;
    std::shared_ptr<Function> function;  // also keeps the image alive
    std::shared_ptr<Context> context;
    std::atomic<std::int64_t> counted{0};  // when its time was last counted, in nanoseconds

    static std::int64_t now() {
        return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch())
            .count();
    }

    // Counts the time since the last call, by any of its threads, as time of the interpreter.
    void count_time() {
        const std::int64_t end = now(), begin = counted.exchange(end);
        if (end > begin)
            compiler::record_interpreted(function->kernel(),
                                         static_cast<std::uint64_t>(end - begin));
    }

    void run(CUresult status) override {
        if (status != CUDA_SUCCESS) return;
        Driver& driver = Driver::get();
        if (driver.settings.mode == compiler::Mode::automatic && !grid.launch.order &&
            compiler::is_interpreted(function->kernel())) {
            counted.store(now());
            grid.launch.tick = [this] { count_time(); };
        }
        driver.scheduler.run(grid);
        if (grid.launch.tick) count_time();
        // As on hardware, printed text is visible when the work is complete.
        if (grid.printed.load(std::memory_order_relaxed)) std::fflush(stdout);
        if (grid.timed_out.load())
            return context->poison(CUDA_ERROR_LAUNCH_TIMEOUT,
                                   "kernel " + title(function->kernel().name()) +
                                       " ran longer than CUPOLA_CPU_TIMEOUT");
        if (!grid.fault || grid.fault->kind == Fault::Kind::stopped) return;
        if (grid.fault->kind == Fault::Kind::assertion)
            std::fprintf(stderr, "%s\n", grid.fault->text.c_str());
        context->poison(code_of(grid.fault->kind), std::move(grid.fault->text),
                        std::move(grid.fault->assertion));
    }
};

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

KernelCall kernel_call(CUfunction handle, const LaunchShape& shape,
                       std::shared_ptr<Context> context, void** parameters, void** extra) {
    KernelCall call;
    call.function = find_function(handle);
    const Function& function = *call.function;
    require(function.context() == context.get(), CUDA_ERROR_INVALID_HANDLE);
    check(shape, function);
    const std::optional<Dim3> cluster = cluster_of(shape, function);
    if (shape.cooperative) check_cooperative(shape, function, cluster);
    require(!(parameters && extra && *extra != CU_LAUNCH_PARAM_END));
    require(parameters || extra || function.parameter_bytes() == 0);
    if (parameters)
        call.parameters = from_pointers(function, parameters);
    else if (extra)
        call.parameters = from_buffer(function, extra);
    call.context = std::move(context);
    call.shape = shape;
    call.shape.cluster = cluster.value_or(Dim3{1, 1, 1});
    call.shape.cluster_given = cluster.has_value();
    call.shape.events.clear();  // these belong to the launch, not to the kernel
    return call;
}

std::unique_ptr<Operation> grid_operation(KernelCall call, int priority) {
    auto operation = std::make_unique<GridOperation>();
    Launch& launch = operation->grid.launch;
    const LaunchShape& shape = call.shape;
    const auto& function = call.function;
    launch.parameters = std::move(call.parameters);
    launch.kernel = &function->kernel();
    launch.grid = shape.grid;
    launch.block = shape.block;
    launch.cluster = shape.cluster;
    launch.explicit_cluster = shape.cluster_given;
    launch.cooperative = shape.cooperative;
    launch.dynamic_shared = shape.shared;
    launch.memory = &Driver::get().memory;
    launch.heap = &call.context->heap();
    launch.textures = Driver::get().textures.space();
    launch.checks = Driver::get().settings.checks;
    launch.unwritten = &Driver::get().memory.unwritten;
    if (function->references()) launch.references = function->references()->bound();
    launch.coverage_context = coverage::context();
    launch.grid_id = ++last_grid;
    launch.order = SeededOrder::next();
    if (HeldOutput::get().is_on()) {
        launch.print = [limit = call.context->get_limit(CU_LIMIT_PRINTF_FIFO_SIZE)](
                           std::string_view text) { HeldOutput::get().add(text, limit); };
    } else {
        launch.print = [printed = &operation->grid.printed](std::string_view text) {
            std::fwrite(text.data(), 1, text.size(), stdout);
            printed->store(true, std::memory_order_relaxed);
        };
    }
    operation->grid.context = call.context.get();
    operation->grid.context_alive = &call.context->alive_flag();
    operation->grid.priority =
        shape.priority ? std::clamp(*shape.priority, Stream::greatest_priority, 0) : priority;
    operation->context = std::move(call.context);
    operation->function = std::move(call.function);
    return operation;
}

}  // namespace cupola::cpu
