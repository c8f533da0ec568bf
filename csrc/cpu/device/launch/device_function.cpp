// csrc/cpu/device/launch/device_function.cpp - the functions of the device runtime, which PTX names
// as extern.
#include <cstddef>

#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/device.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/launch/child_grids.hpp"
#include "cpu/device/module/module.hpp"
#include "cpu/device/module/occupancy.hpp"
#include "cpu/device/stream/copy.hpp"

namespace cupola::cpu {
namespace device_functions {
namespace {

namespace error = runtime_error;

using Outcome = DeviceOutcome;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct Faulted {};

// Calls `body`, and converts what it throws to the thread's last error and to the outcome.
template <class Body>
Outcome attempt(ChildGrids& grids, DeviceCall& call, int& error, Body body) {
    bool faulted = false;
    error = static_cast<int>(result_of([&] {
        try {
            body();
        } catch (const Faulted&) {
            faulted = true;
        }
        return CUDA_SUCCESS;
    }));
    if (faulted) return Outcome::faulted;
    if (error != error::success) grids.set_error(call, error);
    return Outcome::done;
}

// A function that returns its error.
template <class Body>
Outcome returns_error(ChildGrids& grids, DeviceCall& call, Body body) {
    int error = 0;
    const Outcome outcome = attempt(grids, call, error, body);
    call.set_result(error);
    return outcome;
}

std::byte* reach(DeviceCall& call, u64 address, u64 bytes, u64 align, bool write) {
    require(address != 0, error::invalid_value);
    std::byte* const at = call.reach(address, bytes, align, write);
    if (!at) throw Faulted{};
    return at;
}

// Writes to the address in an argument.
template <class T>
void store(DeviceCall& call, std::size_t n, T value) {
    std::byte* to = reach(call, call.argument<u64>(n), sizeof value, alignof(T), true);
    std::memcpy(to, &value, sizeof value);
}

// Errors of threads.
template <bool Reset>
Outcome last_error(ChildGrids& grids, DeviceCall& call) {
    call.set_result(grids.last_error(call, Reset));
    return Outcome::done;
}
template <bool Name>
Outcome error_text(ChildGrids& grids, DeviceCall& call) {
    const auto& row = error::find_error(call.argument<int>(0));
    call.set_result(u64{grids.device_text(Name ? row.name : row.text)});
    return Outcome::done;
}

// Launches.
LaunchShape shape_of(const DeviceCall& call, std::size_t first) {
    LaunchShape shape;
    shape.grid = call.argument<Dim3>(first);
    shape.block = call.argument<Dim3>(first + 1);
    shape.shared = call.argument<u32>(first + 2);
    return shape;
}

// For a wrong grid or block, NVIDIA's driver returns the error of any wrong argument.
template <class Body>
void check_shape(Body body) {
    try {
        body();
    } catch (const Failure& failure) {
        if (failure.code != CUDA_ERROR_INVALID_VALUE) throw;
        require(false, error::invalid_configuration);
    }
}

Outcome get_parameter_buffer(ChildGrids& grids, DeviceCall& call) {
    int error = 0;
    u64 buffer = 0;
    const Outcome outcome = attempt(grids, call, error, [&] {
        const u64 bytes = call.argument<u64>(1);
        buffer = grids.make_buffer(bytes);
        call.allocated(buffer, bytes);
    });
    call.set_result(buffer);
    return outcome;
}
Outcome get_parameter_buffer_v2(ChildGrids& grids, DeviceCall& call) {
    int error = 0;
    u64 buffer = 0;
    const Outcome outcome = attempt(grids, call, error, [&] {
        check_shape([&] {
            const auto [address, bytes] =
                grids.make_buffer(call.argument<u64>(0), shape_of(call, 1));
            buffer = address;
            call.allocated(address, bytes);
        });
    });
    call.set_result(buffer);
    return outcome;
}
Outcome launch_device(ChildGrids& grids, DeviceCall& call) {
    return returns_error(grids, call, [&] {
        check_shape([&] {
            grids.launch(call.block, call.argument<u64>(0), shape_of(call, 2),
                         call.argument<u64>(1), call.argument<u64>(5));
        });
    });
}
Outcome launch_device_v2(ChildGrids& grids, DeviceCall& call) {
    return returns_error(grids, call, [&] {
        grids.launch(call.block, call.argument<u64>(0), call.argument<u64>(1));
    });
}
Outcome launch_graph(ChildGrids& grids, DeviceCall& call) {
    return returns_error(grids, call, [&] {
        grids.launch_graph(call.block, call.argument<u64>(0), call.argument<u64>(1));
    });
}
Outcome synchronize(ChildGrids& grids, DeviceCall& call) {
    grids.run_block(call.block);
    if (!grids.usable()) return Outcome::stopped;
    call.set_result(int{error::success});
    return Outcome::done;
}

// Streams and events.
Outcome stream_create(ChildGrids& grids, DeviceCall& call) {
    return returns_error(grids, call, [&] {
        require(call.argument<u32>(1) <= CU_STREAM_NON_BLOCKING, error::invalid_value);
        reach(call, call.argument<u64>(0), 8, 8, true);
        store(call, 0, grids.create_stream());
    });
}
Outcome stream_destroy(ChildGrids& grids, DeviceCall& call) {
    return returns_error(grids, call, [&] { grids.destroy_stream(call.argument<u64>(0)); });
}
Outcome stream_wait_event(ChildGrids& grids, DeviceCall& call) {
    return returns_error(grids, call, [&] {
        require(call.argument<u32>(2) == 0, error::invalid_value);
        grids.wait(call.block, call.argument<u64>(0), call.argument<u64>(1));
    });
}
Outcome event_create(ChildGrids& grids, DeviceCall& call) {
    return returns_error(grids, call, [&] {
        require(call.argument<u32>(1) == CU_EVENT_DISABLE_TIMING, error::invalid_value);
        reach(call, call.argument<u64>(0), 8, 8, true);
        store(call, 0, grids.create_event());
    });
}
Outcome event_record(ChildGrids& grids, DeviceCall& call) {
    return returns_error(grids, call, [&] {
        grids.record(call.block, call.argument<u64>(0), call.argument<u64>(1));
    });
}
Outcome event_record_flags(ChildGrids& grids, DeviceCall& call) {
    return returns_error(grids, call, [&] {
        require(call.argument<u32>(2) == 0, error::invalid_value);
        grids.record(call.block, call.argument<u64>(0), call.argument<u64>(1));
    });
}
Outcome event_destroy(ChildGrids& grids, DeviceCall& call) {
    return returns_error(grids, call, [&] { grids.destroy_event(call.argument<u64>(0)); });
}

// Copies and fills. The memory of both sides must be the device's.
void check_kind(u32 kind) {
    constexpr u32 device_to_device = 3, by_address = 4;
    require(kind == device_to_device || kind == by_address, error::invalid_memcpy_direction);
}
void add_copy(ChildGrids& grids, const DeviceCall& call, Copy copy, u64 stream) {
    if (copy.width == 0 || copy.height == 0 || copy.depth == 0) return;
    for (const Side* side : {&copy.destination, &copy.source})
        require((copy.height == 1 && copy.depth == 1) || side->pitch >= copy.width,
                error::invalid_pitch_value);
    grids.add(call.block, stream, copy_operation(copy, *grids.context().legacy()));
}
void add_fill(ChildGrids& grids, const DeviceCall& call, const Fill& fill, u64 stream) {
    if (fill.width == 0 || fill.height == 0) return;
    require(fill.height == 1 || fill.pitch >= fill.width, error::invalid_pitch_value);
    grids.add(call.block, stream, fill_operation(fill, *grids.context().legacy()));
}
Side side(u64 address, std::size_t pitch = 0, std::size_t slice = 0) {
    return {Side::Space::device, address, pitch, slice};
}

Outcome memcpy_async(ChildGrids& grids, DeviceCall& call) {
    return returns_error(grids, call, [&] {
        check_kind(call.argument<u32>(3));
        Copy copy{side(call.argument<u64>(0)), side(call.argument<u64>(1)), call.argument<u64>(2)};
        add_copy(grids, call, copy, call.argument<u64>(4));
    });
}
Outcome memcpy_2d_async(ChildGrids& grids, DeviceCall& call) {
    return returns_error(grids, call, [&] {
        check_kind(call.argument<u32>(6));
        Copy copy{side(call.argument<u64>(0), call.argument<u64>(1)),
                  side(call.argument<u64>(2), call.argument<u64>(3)), call.argument<u64>(4),
                  call.argument<u64>(5)};
        add_copy(grids, call, copy, call.argument<u64>(7));
    });
}

struct Pitched {
    u64 address, pitch, width, height;
};
struct Box {
    u64 width, height, depth;
};
struct Copy3D {  // cudaMemcpy3DParms
    u64 source_array;
    Box source_position;
    Pitched source;
    u64 destination_array;
    Box destination_position;
    Pitched destination;
    Box extent;
    u32 kind;
};
Side side(const Pitched& memory, const Box& at) {
    const u64 slice = memory.pitch * memory.height;
    return side(memory.address + at.depth * slice + at.height * memory.pitch + at.width,
                memory.pitch, slice);
}

Outcome memcpy_3d_async(ChildGrids& grids, DeviceCall& call) {
    return returns_error(grids, call, [&] {
        Copy3D given;
        std::memcpy(&given,
                    reach(call, call.argument<u64>(0), sizeof given, alignof(Copy3D), false),
                    sizeof given);
        check_kind(given.kind);
        // The device runtime copies linear memory alone.
        require(given.source_array == 0 && given.destination_array == 0, error::not_supported);
        add_copy(grids, call,
                 {side(given.destination, given.destination_position),
                  side(given.source, given.source_position), given.extent.width,
                  given.extent.height, given.extent.depth},
                 call.argument<u64>(1));
    });
}
Outcome memset_async(ChildGrids& grids, DeviceCall& call) {
    return returns_error(grids, call, [&] {
        add_fill(grids, call,
                 {call.argument<u64>(0), 0, call.argument<u32>(1), 1, call.argument<u64>(2)},
                 call.argument<u64>(3));
    });
}
Outcome memset_2d_async(ChildGrids& grids, DeviceCall& call) {
    return returns_error(grids, call, [&] {
        add_fill(grids, call,
                 {call.argument<u64>(0), call.argument<u64>(1), call.argument<u32>(2), 1,
                  call.argument<u64>(3), call.argument<u64>(4)},
                 call.argument<u64>(5));
    });
}
Outcome memset_3d_async(ChildGrids& grids, DeviceCall& call) {
    return returns_error(grids, call, [&] {
        const auto memory = call.argument<Pitched>(0);
        const auto extent = call.argument<Box>(2);
        require(extent.height <= memory.height || extent.depth <= 1, error::invalid_value);
        for (u64 z = 0; z < extent.depth; ++z)
            add_fill(grids, call,
                     {memory.address + z * memory.pitch * memory.height, memory.pitch,
                      call.argument<u32>(1), 1, extent.width, extent.height},
                     call.argument<u64>(3));
    });
}

// The heap of malloc.
Outcome malloc_device(ChildGrids& grids, DeviceCall& call) {
    return returns_error(grids, call, [&] {
        const u64 bytes = call.argument<u64>(1);
        reach(call, call.argument<u64>(0), 8, 8, true);
        require(bytes != 0, error::invalid_value);
        const u64 address = grids.context().heap().allocate(bytes);
        require(address != 0, error::memory_allocation);
        call.allocated(address, bytes);
        store(call, 0, address);
    });
}
Outcome free_device(ChildGrids& grids, DeviceCall& call) {
    return returns_error(grids, call, [&] {
        const u64 address = call.argument<u64>(0);
        require(address == 0 || grids.context().heap().release(address), error::invalid_value);
    });
}

// The device, its limits, and properties of kernels.
Outcome get_device_count(ChildGrids& grids, DeviceCall& call) {
    return returns_error(grids, call, [&] {
        store(call, 0, static_cast<int>(grids.context().driver().devices.size()));
    });
}
Outcome get_device(ChildGrids& grids, DeviceCall& call) {
    return returns_error(grids, call, [&] { store(call, 0, grids.context().device().ordinal()); });
}
// NVIDIA's device runtime has kept this version since CUDA 6.0.
Outcome runtime_get_version(ChildGrids& grids, DeviceCall& call) {
    return returns_error(grids, call, [&] { store(call, 0, 6000); });
}
Outcome get_attribute(ChildGrids& grids, DeviceCall& call) {
    return returns_error(grids, call, [&] {
        const int ordinal = call.argument<int>(2);
        const auto& devices = grids.context().driver().devices;
        require(ordinal >= 0 && ordinal < static_cast<int>(devices.size()), error::invalid_device);
        const auto value = devices[static_cast<std::size_t>(ordinal)]->attribute(
            call.argument<CUdevice_attribute>(1));
        require(value.has_value(), error::invalid_value);
        store(call, 0, *value);
    });
}
Outcome get_limit(ChildGrids& grids, DeviceCall& call) {
    return returns_error(grids, call, [&] {
        const auto limit = call.argument<CUlimit>(1);
        require(limit == CU_LIMIT_STACK_SIZE || limit == CU_LIMIT_PRINTF_FIFO_SIZE ||
                    limit == CU_LIMIT_MALLOC_HEAP_SIZE ||
                    limit == CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT,
                error::unsupported_limit);
        store(call, 0, u64{grids.context().get_limit(limit)});
    });
}
Outcome get_cache_config(ChildGrids& grids, DeviceCall& call) {
    return returns_error(grids, call, [&] { store(call, 0, grids.context().cache_config.load()); });
}
Outcome get_shared_config(ChildGrids& grids, DeviceCall& call) {
    return returns_error(grids, call,
                         [&] { store(call, 0, grids.context().shared_config.load()); });
}

struct FunctionDescription {  // cudaFuncAttributes
    u64 shared, constant, local;
    int threads, registers, ptx, binary, cache_mode, dynamic_shared, carveout;
    // Since CUDA 12.
    int cluster_must_be_set, cluster[3], cluster_policy, non_portable_cluster, reserved[16];
};
constexpr std::size_t old_description = offsetof(FunctionDescription, cluster_must_be_set);
constexpr int first_new_ptx = 80;

Outcome get_function_attributes(ChildGrids& grids, DeviceCall& call) {
    return returns_error(grids, call, [&] {
        const auto function = grids.kernel_at(call.argument<u64>(1));
        const auto get = [&](CUfunction_attribute which) { return function->get(which); };
        FunctionDescription made{};
        made.shared = static_cast<u64>(get(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
        made.constant = static_cast<u64>(get(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES));
        made.local = static_cast<u64>(get(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
        made.threads = get(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
        made.registers = get(CU_FUNC_ATTRIBUTE_NUM_REGS);
        made.ptx = get(CU_FUNC_ATTRIBUTE_PTX_VERSION);
        made.binary = get(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
        made.dynamic_shared = get(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
        made.carveout = get(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
        made.cluster_must_be_set = get(CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET);
        made.cluster[0] = get(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH);
        made.cluster[1] = get(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT);
        made.cluster[2] = get(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH);
        made.cluster_policy = get(CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
        made.non_portable_cluster = get(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
        const std::size_t bytes = function->kernel().ptx_version() < first_new_ptx
                                      ? old_description
                                      : sizeof(FunctionDescription);
        std::memcpy(reach(call, call.argument<u64>(0), bytes, 8, true), &made, bytes);
    });
}

template <bool Flags>
Outcome occupancy(ChildGrids& grids, DeviceCall& call) {
    return returns_error(grids, call, [&] {
        const auto function = grids.kernel_at(call.argument<u64>(1));
        const int block = call.argument<int>(2);
        require(block > 0, error::invalid_value);
        if constexpr (Flags) require(call.argument<u32>(4) <= 1, error::invalid_value);
        store(call, 0, active_blocks(*function, block, call.argument<u64>(3)));
    });
}

constexpr bool one_name = false, both = true;
constexpr auto plain = DeviceFunction::Kind::plain, stream = DeviceFunction::Kind::stream,
               graph = DeviceFunction::Kind::graph;

const DeviceFunction table[] = {
    {"cudaGetLastError", both, plain, last_error<true>, 4, {}},
    {"cudaPeekAtLastError", both, plain, last_error<false>, 4, {}},
    {"cudaGetErrorName", both, plain, error_text<true>, 8, {4}},
    {"cudaGetErrorString", both, plain, error_text<false>, 8, {4}},
    {"cudaGetParameterBuffer", both, plain, get_parameter_buffer, 8, {8, 8}},
    {"cudaGetParameterBufferV2", both, plain, get_parameter_buffer_v2, 8, {8, 12, 12, 4}},
    {"cudaLaunchDevice", both, stream, launch_device, 4, {8, 8, 12, 12, 4, 8}},
    {"cudaLaunchDeviceV2", both, stream, launch_device_v2, 4, {8, 8}},
    {"cudaGraphLaunch", one_name, graph, launch_graph, 4, {8, 8}},
    {"cudaDeviceSynchronize", one_name, plain, synchronize, 4, {}},
    {"__cudaDeviceSynchronizeDeprecationAvoidance", one_name, plain, synchronize, 4, {}},
    {"cudaStreamCreateWithFlags", both, plain, stream_create, 4, {8, 4}},
    {"cudaStreamDestroy", both, plain, stream_destroy, 4, {8}},
    {"cudaStreamWaitEvent", both, stream, stream_wait_event, 4, {8, 8, 4}},
    {"cudaEventCreateWithFlags", both, plain, event_create, 4, {8, 4}},
    {"cudaEventRecord", both, stream, event_record, 4, {8, 8}},
    {"cudaEventRecordWithFlags", both, stream, event_record_flags, 4, {8, 8, 4}},
    {"cudaEventDestroy", both, plain, event_destroy, 4, {8}},
    {"cudaMemcpyAsync", both, stream, memcpy_async, 4, {8, 8, 8, 4, 8}},
    {"cudaMemcpy2DAsync", both, stream, memcpy_2d_async, 4, {8, 8, 8, 8, 8, 8, 4, 8}},
    {"cudaMemcpy3DAsync", both, stream, memcpy_3d_async, 4, {8, 8}},
    {"cudaMemsetAsync", both, stream, memset_async, 4, {8, 4, 8, 8}},
    {"cudaMemset2DAsync", both, stream, memset_2d_async, 4, {8, 8, 4, 8, 8, 8}},
    {"cudaMemset3DAsync", both, stream, memset_3d_async, 4, {32, 4, 24, 8}},
    {"cudaMalloc", both, plain, malloc_device, 4, {8, 8}},
    {"cudaFree", both, plain, free_device, 4, {8}},
    {"cudaGetDeviceCount", both, plain, get_device_count, 4, {8}},
    {"cudaGetDevice", both, plain, get_device, 4, {8}},
    {"cudaRuntimeGetVersion", both, plain, runtime_get_version, 4, {8}},
    {"cudaDeviceGetAttribute", both, plain, get_attribute, 4, {8, 4, 4}},
    {"cudaDeviceGetLimit", both, plain, get_limit, 4, {8, 4}},
    {"cudaDeviceGetCacheConfig", both, plain, get_cache_config, 4, {8}},
    {"cudaDeviceGetSharedMemConfig", both, plain, get_shared_config, 4, {8}},
    {"cudaFuncGetAttributes", both, plain, get_function_attributes, 4, {8, 8}},
    {"cudaOccupancyMaxActiveBlocksPerMultiprocessor",
     both,
     plain,
     occupancy<false>,
     4,
     {8, 8, 4, 8}},
    {"cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
     both,
     plain,
     occupancy<true>,
     4,
     {8, 8, 4, 8, 4}},
};

// Removes the entry if it exists.
bool remove_suffix(std::string_view& name, std::string_view suffix) {
    if (name.size() < suffix.size() || name.substr(name.size() - suffix.size()) != suffix)
        return false;
    name.remove_suffix(suffix.size());
    return true;
}

}  // namespace
}  // namespace device_functions

const DeviceFunction* find_device_function(std::string_view name) {
    constexpr std::string_view cdp2 = "__cudaCDP2", cdp1 = "cuda";
    const bool is_cdp2 = name.substr(0, cdp2.size()) == cdp2;
    const bool of_stream = device_functions::remove_suffix(name, "_ptsz");
    for (const DeviceFunction& each : device_functions::table) {
        if ((is_cdp2 && !each.cdp2) || (of_stream && each.kind != DeviceFunction::Kind::stream))
            continue;
        if (is_cdp2 ? name.substr(cdp2.size()) == each.name.substr(cdp1.size()) : name == each.name)
            return &each;
    }
    return nullptr;
}

}  // namespace cupola::cpu
