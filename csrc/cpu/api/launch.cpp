// csrc/cpu/api/launch.cpp - cu* entry points: kernel launches, including those of CUDA 2.
#include "cpu/device/launch/launch.hpp"

#include <cstring>
#include <utility>

#include "cpu/api/handle.hpp"
#include "cpu/debugger/session.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/launch/capture.hpp"
#include "cpu/device/module/module.hpp"
#include "cpu/device/stream/event.hpp"
#include "cpu/device/stream/stream.hpp"

using namespace cupola::cpu;

namespace {

CUresult launch(CUfunction handle, const LaunchShape& shape, CUstream on, void** parameters,
                void** extra) {
    const auto stream = stream_of(on);
    auto call =
        kernel_call(function_of(handle), shape, stream->context_pointer(), parameters, extra);
    for (const auto& event : shape.events)
        require(event->context() == stream->context(), CUDA_ERROR_INVALID_HANDLE);
    if (const auto capture = Capture::of(*stream)) {
        capture->add(*stream, std::move(call));
        for (const auto& event : shape.events) capture->record(*stream, *event);
    } else {
        auto operation = grid_operation(std::move(call), stream->priority());
        if (debugger::Session::in_process())
            stream->perform(std::move(operation));
        else
            stream->submit(std::move(operation));
        for (const auto& event : shape.events) event->record(*stream);
    }
    return CUDA_SUCCESS;
}

}  // namespace

CUPOLA_API CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
                                   unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                   unsigned int block_z, unsigned int shared, CUstream stream,
                                   void** parameters, void** extra) {
    return entry([&] {
        const LaunchShape shape{
            {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, {1, 1, 1}, shared};
        return launch(function, shape, stream, parameters, extra);
    });
}
CUPOLA_API CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned int grid_x,
                                        unsigned int grid_y, unsigned int grid_z,
                                        unsigned int block_x, unsigned int block_y,
                                        unsigned int block_z, unsigned int shared, CUstream stream,
                                        void** parameters, void** extra) {
    return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared,
                          Stream::per_thread(stream), parameters, extra);
}

namespace {

CUresult launch_ex(const CUlaunchConfig* config, CUstream stream, CUfunction function,
                   void** parameters, void** extra) {
    return launch(function, shape_of(Driver::get(), *config), stream, parameters, extra);
}

}  // namespace

CUPOLA_API CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function,
                                     void** parameters, void** extra) {
    return entry([&] {
        require(config);
        return launch_ex(config, config->hStream, function, parameters, extra);
    });
}
CUPOLA_API CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction function,
                                          void** parameters, void** extra) {
    return entry([&] {
        require(config);
        return launch_ex(config, Stream::per_thread(config->hStream), function, parameters, extra);
    });
}

CUPOLA_API CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x,
                                              unsigned int grid_y, unsigned int grid_z,
                                              unsigned int block_x, unsigned int block_y,
                                              unsigned int block_z, unsigned int shared,
                                              CUstream stream, void** parameters) {
    return entry([&] {
        LaunchShape shape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, {1, 1, 1}, shared};
        shape.cooperative = true;
        return launch(function, shape, stream, parameters, nullptr);
    });
}
CUPOLA_API CUresult cuLaunchCooperativeKernel_ptsz(CUfunction function, unsigned int grid_x,
                                                   unsigned int grid_y, unsigned int grid_z,
                                                   unsigned int block_x, unsigned int block_y,
                                                   unsigned int block_z, unsigned int shared,
                                                   CUstream stream, void** parameters) {
    return cuLaunchCooperativeKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                     shared, Stream::per_thread(stream), parameters);
}

// Launches of CUDA 2: the function stores the arguments until it is launched.

CUPOLA_API CUresult cuFuncSetBlockShape(CUfunction function, int x, int y, int z) {
    return entry([&] {
        require(x > 0 && y > 0 && z > 0);
        function_of(function)->old.block = {static_cast<unsigned>(x), static_cast<unsigned>(y),
                                            static_cast<unsigned>(z)};
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuFuncSetSharedSize(CUfunction function, unsigned int bytes) {
    return entry([&] {
        function_of(function)->old.shared = bytes;
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuParamSetSize(CUfunction function, unsigned int bytes) {
    return entry([&] {
        const auto which = function_of(function);
        require(bytes <= which->parameter_bytes());
        which->old.parameters.resize(which->parameter_bytes());
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuParamSetv(CUfunction function, int offset, void* value, unsigned int bytes) {
    return entry([&] {
        const auto which = function_of(function);
        require(value && offset >= 0);
        auto& parameters = which->old.parameters;
        parameters.resize(which->parameter_bytes());
        const auto at = static_cast<std::size_t>(offset);
        require(at <= parameters.size() && bytes <= parameters.size() - at);
        std::memcpy(parameters.data() + at, value, bytes);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuParamSeti(CUfunction function, int offset, unsigned int value) {
    return cuParamSetv(function, offset, &value, sizeof value);
}

CUPOLA_API CUresult cuParamSetf(CUfunction function, int offset, float value) {
    return cuParamSetv(function, offset, &value, sizeof value);
}

CUPOLA_API CUresult cuLaunchGridAsync(CUfunction function, int width, int height, CUstream stream) {
    return entry([&] {
        require(width > 0 && height > 0);
        const auto which = function_of(function);
        const LaunchShape shape{{static_cast<unsigned>(width), static_cast<unsigned>(height), 1},
                                which->old.block,
                                {1, 1, 1},
                                which->old.shared};
        std::vector<std::byte> parameters = which->old.parameters;
        parameters.resize(which->parameter_bytes());
        std::size_t size = parameters.size();
        void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, parameters.data(),
                         CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
        return launch(function, shape, stream, nullptr, extra);
    });
}

CUPOLA_API CUresult cuLaunchGrid(CUfunction function, int width, int height) {
    return cuLaunchGridAsync(function, width, height, nullptr);
}

CUPOLA_API CUresult cuLaunch(CUfunction function) { return cuLaunchGrid(function, 1, 1); }
