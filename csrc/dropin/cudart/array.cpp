// csrc/dropin/cudart/array.cpp - arrays and mipmapped arrays.
#include "dropin/cudart/channel.hpp"
#include "dropin/cudart/cudart.hpp"

namespace cupola::cudart {
namespace {

// The flags of both interfaces have the same numbers.
cudaError_t array_description(const cudaChannelFormatDesc& channel, cudaExtent extent,
                              unsigned flags, CUDA_ARRAY3D_DESCRIPTOR& made) {
    ElementFormat format{};
    const cudaError_t error = format_of(channel, format);
    made = {extent.width, extent.height, extent.depth, format.format, format.channels, flags};
    return error;
}

cudaError_t create_array(const Driver& d, cudaArray_t* array, const cudaChannelFormatDesc* channel,
                         cudaExtent extent, unsigned flags) {
    if (!array || !channel) return cudaErrorInvalidValue;
    CUDA_ARRAY3D_DESCRIPTOR wanted{};
    if (const cudaError_t error = array_description(*channel, extent, flags, wanted);
        error != cudaSuccess)
        return error;
    return result_of(d.Array3DCreate(reinterpret_cast<CUarray*>(array), &wanted));
}

}  // namespace
}  // namespace cupola::cudart

using namespace cupola::cudart;

CUPOLA_CUDART cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* channel,
                                          size_t width, size_t height, unsigned flags) {
    return entry([&](const Driver& d) {
        return create_array(d, array, channel, {width, height, 0}, flags);
    });
}

CUPOLA_CUDART cudaError_t cudaMalloc3DArray(cudaArray_t* array,
                                            const cudaChannelFormatDesc* channel, cudaExtent extent,
                                            unsigned flags) {
    return entry([&](const Driver& d) { return create_array(d, array, channel, extent, flags); });
}

CUPOLA_CUDART cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* mipmap,
                                                   const cudaChannelFormatDesc* channel,
                                                   cudaExtent extent, unsigned levels,
                                                   unsigned flags) {
    return entry([&](const Driver& d) {
        if (!mipmap || !channel) return cudaErrorInvalidValue;
        CUDA_ARRAY3D_DESCRIPTOR wanted{};
        if (const cudaError_t error = array_description(*channel, extent, flags, wanted);
            error != cudaSuccess)
            return error;
        return result_of(
            d.MipmappedArrayCreate(reinterpret_cast<CUmipmappedArray*>(mipmap), &wanted, levels));
    });
}

CUPOLA_CUDART cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t* array,
                                                     cudaMipmappedArray_const_t mipmap,
                                                     unsigned level) {
    return entry([&](const Driver& d) {
        if (!array) return cudaErrorInvalidValue;
        if (!mipmap) return cudaErrorInvalidResourceHandle;
        return result_of(d.MipmappedArrayGetLevel(reinterpret_cast<CUarray*>(array),
                                                  driver_mipmap(mipmap), level));
    });
}

CUPOLA_CUDART cudaError_t cudaFreeArray(cudaArray_t array) {
    return entry([&](const Driver& d) {
        return array ? result_of(d.ArrayDestroy(driver_array(array))) : cudaSuccess;
    });
}

CUPOLA_CUDART cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmap) {
    return entry([&](const Driver& d) {
        return mipmap ? result_of(d.MipmappedArrayDestroy(driver_mipmap(mipmap))) : cudaSuccess;
    });
}

CUPOLA_CUDART cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* channel, cudaExtent* extent,
                                           unsigned* flags, cudaArray_t array) {
    return entry([&](const Driver& d) {
        if (!array) return cudaErrorInvalidResourceHandle;
        CUDA_ARRAY3D_DESCRIPTOR found{};
        if (const CUresult error = d.Array3DGetDescriptor(&found, driver_array(array));
            error != CUDA_SUCCESS)
            return result_of(error);
        cudaChannelFormatDesc described{};
        if (!channel_of(found.Format, found.NumChannels, described))
            return cudaErrorInvalidChannelDescriptor;
        if (channel) *channel = described;
        if (extent) *extent = {found.Width, found.Height, found.Depth};
        if (flags) *flags = found.Flags;
        return cudaSuccess;
    });
}

CUPOLA_CUDART cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* channel,
                                             cudaArray_const_t array) {
    return entry([&](const Driver& d) {
        if (!channel) return cudaErrorInvalidValue;
        if (!array) return cudaErrorInvalidResourceHandle;
        CUDA_ARRAY3D_DESCRIPTOR found{};
        if (const CUresult error = d.Array3DGetDescriptor(&found, driver_array(array));
            error != CUDA_SUCCESS)
            return result_of(error);
        return channel_of(found.Format, found.NumChannels, *channel)
                   ? cudaSuccess
                   : cudaErrorInvalidChannelDescriptor;
    });
}

CUPOLA_CUDART cudaError_t cudaArrayGetPlane(cudaArray_t* plane, cudaArray_t array, unsigned index) {
    return entry([&](const Driver& d) {
        if (!plane) return cudaErrorInvalidValue;
        if (!array) return cudaErrorInvalidResourceHandle;
        return result_of(
            d.ArrayGetPlane(reinterpret_cast<CUarray*>(plane), driver_array(array), index));
    });
}

CUPOLA_CUDART cudaError_t cudaArrayGetSparseProperties(cudaArraySparseProperties* properties,
                                                       cudaArray_t array) {
    static_assert(sizeof(cudaArraySparseProperties) == sizeof(CUDA_ARRAY_SPARSE_PROPERTIES));
    return entry([&](const Driver& d) {
        if (!properties || !array) return cudaErrorInvalidValue;
        return result_of(d.ArrayGetSparseProperties(
            reinterpret_cast<CUDA_ARRAY_SPARSE_PROPERTIES*>(properties), driver_array(array)));
    });
}

CUPOLA_CUDART cudaError_t cudaMipmappedArrayGetSparseProperties(
    cudaArraySparseProperties* properties, cudaMipmappedArray_t mipmap) {
    return entry([&](const Driver& d) {
        if (!properties || !mipmap) return cudaErrorInvalidValue;
        return result_of(d.MipmappedArrayGetSparseProperties(
            reinterpret_cast<CUDA_ARRAY_SPARSE_PROPERTIES*>(properties), driver_mipmap(mipmap)));
    });
}

CUPOLA_CUDART cudaError_t cudaArrayGetMemoryRequirements(cudaArrayMemoryRequirements* requirements,
                                                         cudaArray_t array, int device) {
    static_assert(sizeof(cudaArrayMemoryRequirements) == sizeof(CUDA_ARRAY_MEMORY_REQUIREMENTS));
    return entry([&](const Driver& d) {
        CUdevice on = 0;
        if (!requirements || !array || !Runtime::get().find(device, on))
            return cudaErrorInvalidValue;
        return result_of(d.ArrayGetMemoryRequirements(
            reinterpret_cast<CUDA_ARRAY_MEMORY_REQUIREMENTS*>(requirements), driver_array(array),
            on));
    });
}

CUPOLA_CUDART cudaError_t cudaMipmappedArrayGetMemoryRequirements(
    cudaArrayMemoryRequirements* requirements, cudaMipmappedArray_t mipmap, int device) {
    return entry([&](const Driver& d) {
        CUdevice on = 0;
        if (!requirements || !mipmap || !Runtime::get().find(device, on))
            return cudaErrorInvalidValue;
        return result_of(d.MipmappedArrayGetMemoryRequirements(
            reinterpret_cast<CUDA_ARRAY_MEMORY_REQUIREMENTS*>(requirements), driver_mipmap(mipmap),
            on));
    });
}
