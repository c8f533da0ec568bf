// csrc/dropin/cudart/stream/launch.cpp - launches of kernels and of host functions.
#include "dropin/cudart/cudart.hpp"
#include "dropin/cudart/launch_config.hpp"
#include "dropin/cudart/registry.hpp"

namespace cupola::cudart {
namespace {

bool is_within(const Driver& d, CUdevice device, unsigned size, CUdevice_attribute most) {
    int limit = 0;
    return size != 0 && d.DeviceGetAttribute(&limit, most, device) == CUDA_SUCCESS &&
           size <= static_cast<unsigned>(limit);
}

// The driver calls a grid or block out of bounds an invalid value, and so does version 13.
cudaError_t launch_error(const Driver& d, CUresult result, dim3 grid, dim3 block) {
    if (runtime_major == 13) return result_of(result);
    if (result == CUDA_ERROR_NOT_FOUND) return cudaErrorInvalidDeviceFunction;
    CUdevice device = 0;
    if (result != CUDA_ERROR_INVALID_VALUE || d.CtxGetDevice(&device) != CUDA_SUCCESS)
        return result_of(result);
    const bool fits = is_within(d, device, grid.x, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X) &&
                      is_within(d, device, grid.y, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y) &&
                      is_within(d, device, grid.z, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z) &&
                      is_within(d, device, block.x, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X) &&
                      is_within(d, device, block.y, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y) &&
                      is_within(d, device, block.z, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z) &&
                      is_within(d, device, block.x * block.y * block.z,
                                CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    return fits ? cudaErrorInvalidValue : cudaErrorInvalidConfiguration;
}

cudaError_t launch(const Driver& d, CUkernel kernel, dim3 grid, dim3 block, void** arguments,
                   size_t shared, cudaStream_t stream) {
    const CUresult result =
        d.LaunchKernel(as_function(kernel), grid.x, grid.y, grid.z, block.x, block.y, block.z,
                       static_cast<unsigned>(shared), stream, arguments, nullptr);
    if (__builtin_expect(result == CUDA_SUCCESS, 1)) return cudaSuccess;
    return launch_error(d, result, grid, block);
}

cudaError_t launch_cooperatively(const Driver& d, CUkernel kernel, dim3 grid, dim3 block,
                                 void** arguments, size_t shared, cudaStream_t stream) {
    const CUresult result =
        d.LaunchCooperativeKernel(as_function(kernel), grid.x, grid.y, grid.z, block.x, block.y,
                                  block.z, static_cast<unsigned>(shared), stream, arguments);
    return result == CUDA_SUCCESS ? cudaSuccess : launch_error(d, result, grid, block);
}

}  // namespace
}  // namespace cupola::cudart

using namespace cupola::cudart;

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define __cudaLaunchKernel __cudaLaunchKernel_ptsz
#endif

CUPOLA_CUDART cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block,
                                             void** arguments, size_t shared, cudaStream_t stream) {
    return entry([&](const Driver& d) {
        auto found = reinterpret_cast<CUkernel>(kernel);
        if (Registry& registry = Registry::get(); !kernel || registry.is_host_function(kernel))
            if (const cudaError_t error = registry.find_host_kernel(kernel, found);
                error != cudaSuccess)
                return error;
        return launch(d, found, grid, block, arguments, shared, stream);
    });
}

CUPOLA_CUDART cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block,
                                           void** arguments, size_t shared, cudaStream_t stream) {
    return entry_with_kernel(function, [&](const Driver& d, CUkernel kernel) {
        return launch(d, kernel, grid, block, arguments, shared, stream);
    });
}

CUPOLA_CUDART cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block,
                                                      void** arguments, size_t shared,
                                                      cudaStream_t stream) {
    return entry_with_kernel(function, [&](const Driver& d, CUkernel kernel) {
        return launch_cooperatively(d, kernel, grid, block, arguments, shared, stream);
    });
}

CUPOLA_CUDART cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config,
                                              const void* function, void** arguments) {
    return entry([&](const Driver& d) {
        if (!config) return cudaErrorInvalidConfiguration;
        CUkernel kernel = nullptr;
        if (const cudaError_t found = Registry::get().find_kernel(function, kernel);
            found != cudaSuccess)
            return found;
        const CUlaunchConfig wanted = driver_config(*config);
        const CUresult result = d.LaunchKernelEx(&wanted, as_function(kernel), arguments, nullptr);
        return result == CUDA_SUCCESS ? cudaSuccess
                                      : launch_error(d, result, config->gridDim, config->blockDim);
    });
}

CUPOLA_CUDART cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function,
                                             void* data) {
    return entry([&](const Driver& d) { return d.LaunchHostFunc(stream, function, data); });
}
