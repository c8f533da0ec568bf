// csrc/dropin/cudart/stream/fill.cpp - fills of memory with a byte.
#include "dropin/cudart/cudart.hpp"

namespace cupola::cudart {
namespace {

// A stream of null is a synchronous call's.
CUresult fill_rows(const Driver& d, CUdeviceptr pointer, std::size_t pitch, int value,
                   std::size_t width, std::size_t height, const cudaStream_t* stream) {
    if (width == 0 || height == 0) return CUDA_SUCCESS;
    const auto byte = static_cast<unsigned char>(value);
    return stream ? d.MemsetD2D8Async(pointer, pitch, byte, width, height, *stream)
                  : d.MemsetD2D8(pointer, pitch, byte, width, height);
}

// The driver fills two dimensions: whole slices at once, parts of slices one by one.
CUresult fill_slices(const Driver& d, cudaPitchedPtr pitched, int value, cudaExtent extent,
                     const cudaStream_t* stream) {
    if (extent.width == 0 || extent.height == 0) return CUDA_SUCCESS;
    if (extent.width > pitched.pitch || extent.height > pitched.ysize)
        return CUDA_ERROR_INVALID_VALUE;
    const auto pointer = device_address(pitched.ptr);
    if (extent.height == pitched.ysize || extent.depth <= 1)
        return fill_rows(d, pointer, pitched.pitch, value, extent.width,
                         extent.height * extent.depth, stream);
    CUresult result = CUDA_SUCCESS;
    for (std::size_t z = 0; z < extent.depth && result == CUDA_SUCCESS; ++z)
        result = fill_rows(d, pointer + z * pitched.ysize * pitched.pitch, pitched.pitch, value,
                           extent.width, extent.height, stream);
    return result;
}

}  // namespace
}  // namespace cupola::cudart

using namespace cupola::cudart;

CUPOLA_CUDART cudaError_t cudaMemset(void* pointer, int value, size_t count) {
    return entry([&](const Driver& d) {
        return d.MemsetD8(device_address(pointer), static_cast<unsigned char>(value), count);
    });
}

CUPOLA_CUDART cudaError_t cudaMemsetAsync(void* pointer, int value, size_t count,
                                          cudaStream_t stream) {
    return entry([&](const Driver& d) {
        return d.MemsetD8Async(device_address(pointer), static_cast<unsigned char>(value), count,
                               stream);
    });
}

CUPOLA_CUDART cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width,
                                       size_t height) {
    return entry([&](const Driver& d) {
        return fill_rows(d, device_address(pointer), pitch, value, width, height, nullptr);
    });
}

CUPOLA_CUDART cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width,
                                            size_t height, cudaStream_t stream) {
    return entry([&](const Driver& d) {
        return fill_rows(d, device_address(pointer), pitch, value, width, height, &stream);
    });
}

CUPOLA_CUDART cudaError_t cudaMemset3D(cudaPitchedPtr pitched, int value, cudaExtent extent) {
    return entry([&](const Driver& d) { return fill_slices(d, pitched, value, extent, nullptr); });
}

CUPOLA_CUDART cudaError_t cudaMemset3DAsync(cudaPitchedPtr pitched, int value, cudaExtent extent,
                                            cudaStream_t stream) {
    return entry([&](const Driver& d) { return fill_slices(d, pitched, value, extent, &stream); });
}
