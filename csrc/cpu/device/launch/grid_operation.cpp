// csrc/cpu/device/launch/grid_operation.cpp - a grid as work of a stream, with the work that it
// launches.
#include <algorithm>
#include <cstdio>

#include "cpu/base/seeded_order.hpp"
#include "cpu/compiler/machine_code.hpp"
#include "cpu/coverage/counts.hpp"
#include "cpu/device/base/held_output.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/launch/child_grids.hpp"
#include "cpu/device/launch/device_graph.hpp"
#include "cpu/device/launch/launch.hpp"
#include "cpu/device/module/module.hpp"
#include "cpu/device/stream/stream.hpp"
#include "cpu/device/texture/texture_reference.hpp"
#include "platform/demangle.hpp"

namespace cupola::cpu {
namespace {

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
        case Fault::Kind::tensor_memory_leak:
            return CUDA_ERROR_TENSOR_MEMORY_LEAK;
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
    std::shared_ptr<ChildGrids> children;  // null if the kernel cannot launch
    // The time, in nanoseconds, at which the interpreter's time was last counted.
    std::atomic<std::int64_t> counted{0};

    static std::int64_t now() {
        return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch())
            .count();
    }

    // Adds the time since the last call, by any thread of the grid, to the time of the interpreter.
    void count_time() {
        const std::int64_t end = now(), begin = counted.exchange(end);
        if (end > begin)
            compiler::record_interpreted(function->kernel(),
                                         static_cast<std::uint64_t>(end - begin));
    }

    void run(CUresult status) override {
        if (status != CUDA_SUCCESS) return;
        // Reversed, because the last launch of this list runs first.
        std::vector<std::unique_ptr<Operation>> next = run_grid();
        while (!next.empty() && context->alive() && context->error() == CUDA_SUCCESS) {
            const std::unique_ptr<Operation> tail = std::move(next.back());
            next.pop_back();
            // A grid may launch itself as a tail without end, so tails do not nest.
            if (auto* const other = dynamic_cast<GridOperation*>(tail.get()))
                for (auto& each : other->run_grid()) next.push_back(std::move(each));
            else
                tail->run(CUDA_SUCCESS);
        }
    }

    // Runs the grid and the work that it launched. Returns its tail launches, the last one first.
    std::vector<std::unique_ptr<Operation>> run_grid() {
        run_blocks();
        if (!children || !children->usable()) return {};
        children->run();
        std::vector<std::unique_ptr<Operation>> tails = children->take_tails();
        std::reverse(tails.begin(), tails.end());
        return tails;
    }

    void run_blocks() {
        Driver& driver = context->driver();
        if (driver.settings.mode == Mode::automatic && !grid.launch.order &&
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

std::unique_ptr<Operation> make_grid_in(std::shared_ptr<GraphRun> run, KernelCall call,
                                        int priority, unsigned depth);

std::unique_ptr<Operation> make_grid(KernelCall call, int priority, unsigned depth) {
    return make_grid_in(nullptr, std::move(call), priority, depth);
}

std::unique_ptr<Operation> make_grid_in(std::shared_ptr<GraphRun> run, KernelCall call,
                                        int priority, unsigned depth) {
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
    Driver& driver = call.context->driver();
    launch.memory = &driver.memory;
    launch.heap = &call.context->heap();
    launch.textures = driver.textures.space();
    launch.checks = driver.settings.checks;
    launch.unwritten = &driver.memory.unwritten;
    if (function->references()) launch.references = function->references()->bound();
    launch.coverage_context = coverage::context();
    launch.grid_id = ++driver.last_grid_id;
    if (run) launch.graph_exec = reinterpret_cast<std::uintptr_t>(run->handle());
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
    if (launch.kernel->uses_device_runtime()) {
        operation->children =
            std::make_shared<ChildGrids>(call.context, function->owner(), operation->grid.priority,
                                         depth, &make_grid, std::move(run));
        launch.runtime = operation->children.get();
    }
    operation->context = std::move(call.context);
    operation->function = std::move(call.function);
    return operation;
}

}  // namespace

std::unique_ptr<Operation> grid_operation(KernelCall call, int priority,
                                          std::shared_ptr<GraphRun> run) {
    return make_grid_in(std::move(run), std::move(call), priority, 0);
}

}  // namespace cupola::cpu
