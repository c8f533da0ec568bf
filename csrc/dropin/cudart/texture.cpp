// csrc/dropin/cudart/texture.cpp - texture and surface objects.
//
// Version 13's resource descriptions are longer than version 12's: only common fields are written.
#include "dropin/cudart/channel.hpp"
#include "dropin/cudart/cudart.hpp"

namespace cupola::cudart {
namespace {

cudaError_t to_driver(const cudaResourceDesc& given, CUDA_RESOURCE_DESC& made) {
    made = {};
    made.resType = static_cast<CUresourcetype>(given.resType);
    ElementFormat format{};
    switch (given.resType) {
        case cudaResourceTypeArray:
            made.res.array.hArray = driver_array(given.res.array.array);
            return made.res.array.hArray ? cudaSuccess : cudaErrorInvalidResourceHandle;
        case cudaResourceTypeMipmappedArray:
            made.res.mipmap.hMipmappedArray = driver_mipmap(given.res.mipmap.mipmap);
            return made.res.mipmap.hMipmappedArray ? cudaSuccess : cudaErrorInvalidResourceHandle;
        case cudaResourceTypeLinear: {
            const auto& linear = given.res.linear;
            const cudaError_t error = format_of(linear.desc, format);
            made.res.linear.devPtr = device_address(linear.devPtr);
            made.res.linear.format = format.format;
            made.res.linear.numChannels = format.channels;
            made.res.linear.sizeInBytes = linear.sizeInBytes;
            return error;
        }
        case cudaResourceTypePitch2D: {
            const auto& rows = given.res.pitch2D;
            const cudaError_t error = format_of(rows.desc, format);
            made.res.pitch2D.devPtr = device_address(rows.devPtr);
            made.res.pitch2D.format = format.format;
            made.res.pitch2D.numChannels = format.channels;
            made.res.pitch2D.width = rows.width;
            made.res.pitch2D.height = rows.height;
            made.res.pitch2D.pitchInBytes = rows.pitchInBytes;
            return error;
        }
    }
    return cudaErrorInvalidValue;
}

cudaError_t to_runtime(const CUDA_RESOURCE_DESC& found, cudaResourceDesc& made) {
    made.resType = static_cast<cudaResourceType>(found.resType);
    switch (made.resType) {
        case cudaResourceTypeArray:
            made.res.array.array = reinterpret_cast<cudaArray_t>(found.res.array.hArray);
            return cudaSuccess;
        case cudaResourceTypeMipmappedArray:
            made.res.mipmap.mipmap =
                reinterpret_cast<cudaMipmappedArray_t>(found.res.mipmap.hMipmappedArray);
            return cudaSuccess;
        case cudaResourceTypeLinear: {
            const auto& linear = found.res.linear;
            made.res.linear.devPtr = reinterpret_cast<void*>(linear.devPtr);
            made.res.linear.sizeInBytes = linear.sizeInBytes;
            return channel_of(linear.format, linear.numChannels, made.res.linear.desc)
                       ? cudaSuccess
                       : cudaErrorInvalidChannelDescriptor;
        }
        case cudaResourceTypePitch2D: {
            const auto& rows = found.res.pitch2D;
            made.res.pitch2D.devPtr = reinterpret_cast<void*>(rows.devPtr);
            made.res.pitch2D.width = rows.width;
            made.res.pitch2D.height = rows.height;
            made.res.pitch2D.pitchInBytes = rows.pitchInBytes;
            return channel_of(rows.format, rows.numChannels, made.res.pitch2D.desc)
                       ? cudaSuccess
                       : cudaErrorInvalidChannelDescriptor;
        }
    }
    return cudaErrorInvalidValue;
}

CUDA_TEXTURE_DESC to_driver(const cudaTextureDesc& given) {
    CUDA_TEXTURE_DESC made{};
    for (int n = 0; n < 3; ++n)
        made.addressMode[n] = static_cast<CUaddress_mode>(given.addressMode[n]);
    made.filterMode = static_cast<CUfilter_mode>(given.filterMode);
    if (given.readMode == cudaReadModeElementType) made.flags |= CU_TRSF_READ_AS_INTEGER;
    if (given.normalizedCoords) made.flags |= CU_TRSF_NORMALIZED_COORDINATES;
    if (given.sRGB) made.flags |= CU_TRSF_SRGB;
    if (given.disableTrilinearOptimization) made.flags |= CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
    if (given.seamlessCubemap) made.flags |= CU_TRSF_SEAMLESS_CUBEMAP;
    made.maxAnisotropy = given.maxAnisotropy;
    made.mipmapFilterMode = static_cast<CUfilter_mode>(given.mipmapFilterMode);
    made.mipmapLevelBias = given.mipmapLevelBias;
    made.minMipmapLevelClamp = given.minMipmapLevelClamp;
    made.maxMipmapLevelClamp = given.maxMipmapLevelClamp;
    for (int n = 0; n < 4; ++n) made.borderColor[n] = given.borderColor[n];
    return made;
}

void to_runtime(const CUDA_TEXTURE_DESC& found, cudaTextureDesc& made) {
    for (int n = 0; n < 3; ++n)
        made.addressMode[n] = static_cast<cudaTextureAddressMode>(found.addressMode[n]);
    made.filterMode = static_cast<cudaTextureFilterMode>(found.filterMode);
    made.readMode = found.flags & CU_TRSF_READ_AS_INTEGER ? cudaReadModeElementType
                                                          : cudaReadModeNormalizedFloat;
    made.sRGB = (found.flags & CU_TRSF_SRGB) != 0;
    for (int n = 0; n < 4; ++n) made.borderColor[n] = found.borderColor[n];
    made.normalizedCoords = (found.flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
    made.maxAnisotropy = found.maxAnisotropy;
    made.mipmapFilterMode = static_cast<cudaTextureFilterMode>(found.mipmapFilterMode);
    made.mipmapLevelBias = found.mipmapLevelBias;
    made.minMipmapLevelClamp = found.minMipmapLevelClamp;
    made.maxMipmapLevelClamp = found.maxMipmapLevelClamp;
    made.disableTrilinearOptimization = (found.flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION) != 0;
    made.seamlessCubemap = (found.flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0;
}

CUDA_RESOURCE_VIEW_DESC to_driver(const cudaResourceViewDesc& given) {
    CUDA_RESOURCE_VIEW_DESC made{};
    made.format = static_cast<CUresourceViewFormat>(given.format);
    made.width = given.width;
    made.height = given.height;
    made.depth = given.depth;
    made.firstMipmapLevel = given.firstMipmapLevel;
    made.lastMipmapLevel = given.lastMipmapLevel;
    made.firstLayer = given.firstLayer;
    made.lastLayer = given.lastLayer;
    return made;
}

// The elements that a texture reads.
bool find_format(const Driver& d, const CUDA_RESOURCE_DESC& resource, CUarray_format& format) {
    CUarray array = resource.res.array.hArray;
    switch (resource.resType) {
        case CU_RESOURCE_TYPE_LINEAR:
            format = resource.res.linear.format;
            return true;
        case CU_RESOURCE_TYPE_PITCH2D:
            format = resource.res.pitch2D.format;
            return true;
        case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
            if (!resource.res.mipmap.hMipmappedArray ||
                d.MipmappedArrayGetLevel(&array, resource.res.mipmap.hMipmappedArray, 0) !=
                    CUDA_SUCCESS)
                return false;
            [[fallthrough]];
        default:
            CUDA_ARRAY3D_DESCRIPTOR found{};
            if (!array || d.Array3DGetDescriptor(&found, array) != CUDA_SUCCESS) return false;
            format = found.Format;
            return true;
    }
}

// Modes for which the runtime has errors of its own. The driver reports an invalid value for them,
// or accepts them.
cudaError_t check_modes(const cudaTextureDesc& texture, CUarray_format format) {
    const bool is_float = format == CU_AD_FORMAT_FLOAT || format == CU_AD_FORMAT_HALF;
    const bool is_int32 =
        format == CU_AD_FORMAT_SIGNED_INT32 || format == CU_AD_FORMAT_UNSIGNED_INT32;
    const bool is_integer =
        is_int32 || format == CU_AD_FORMAT_SIGNED_INT16 || format == CU_AD_FORMAT_UNSIGNED_INT16 ||
        format == CU_AD_FORMAT_SIGNED_INT8 || format == CU_AD_FORMAT_UNSIGNED_INT8;
    const bool is_normalized = texture.readMode == cudaReadModeNormalizedFloat;
    if (texture.filterMode == cudaFilterModeLinear && is_integer && (is_int32 || !is_normalized))
        return cudaErrorInvalidFilterSetting;
    if (is_normalized && (is_int32 || is_float)) return cudaErrorInvalidNormSetting;
    return cudaSuccess;
}

}  // namespace
}  // namespace cupola::cudart

using namespace cupola::cudart;

CUPOLA_CUDART cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object,
                                                  const cudaResourceDesc* resource,
                                                  const cudaTextureDesc* texture,
                                                  const cudaResourceViewDesc* view) {
    return entry([&](const Driver& d) {
        if (!object || !resource) return cudaErrorInvalidValue;
        if (!texture) return cudaErrorInvalidResourceHandle;
        CUDA_RESOURCE_DESC of{};
        if (const cudaError_t error = to_driver(*resource, of); error != cudaSuccess) return error;
        CUarray_format format{};
        if (!view && find_format(d, of, format))
            if (const cudaError_t error = check_modes(*texture, format); error != cudaSuccess)
                return error;
        const CUDA_TEXTURE_DESC how = to_driver(*texture);
        CUDA_RESOURCE_VIEW_DESC part{};
        if (view) part = to_driver(*view);
        return result_of(d.TexObjectCreate(object, &of, &how, view ? &part : nullptr));
    });
}

CUPOLA_CUDART cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object) {
    return entry([&](const Driver& d) { return d.TexObjectDestroy(object); });
}

CUPOLA_CUDART cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource,
                                                           cudaTextureObject_t object) {
    return entry([&](const Driver& d) {
        if (!resource) return cudaErrorInvalidValue;
        CUDA_RESOURCE_DESC found{};
        const CUresult result = d.TexObjectGetResourceDesc(&found, object);
        return result == CUDA_SUCCESS ? to_runtime(found, *resource) : result_of(result);
    });
}

CUPOLA_CUDART cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* texture,
                                                          cudaTextureObject_t object) {
    return entry([&](const Driver& d) {
        if (!texture) return cudaErrorInvalidResourceHandle;
        CUDA_TEXTURE_DESC found{};
        const CUresult result = d.TexObjectGetTextureDesc(&found, object);
        if (result == CUDA_SUCCESS) to_runtime(found, *texture);
        return result_of(result);
    });
}

CUPOLA_CUDART cudaError_t cudaGetTextureObjectResourceViewDesc(cudaResourceViewDesc* view,
                                                               cudaTextureObject_t object) {
    return entry([&](const Driver& d) {
        CUDA_RESOURCE_VIEW_DESC found{};
        if (const CUresult error = d.TexObjectGetResourceViewDesc(&found, object);
            error != CUDA_SUCCESS)
            return result_of(error);
        if (!view) return cudaSuccess;
        view->format = static_cast<cudaResourceViewFormat>(found.format);
        view->width = found.width;
        view->height = found.height;
        view->depth = found.depth;
        view->firstMipmapLevel = found.firstMipmapLevel;
        view->lastMipmapLevel = found.lastMipmapLevel;
        view->firstLayer = found.firstLayer;
        view->lastLayer = found.lastLayer;
        return cudaSuccess;
    });
}

CUPOLA_CUDART cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object,
                                                  const cudaResourceDesc* resource) {
    return entry([&](const Driver& d) {
        if (!object || !resource) return cudaErrorInvalidValue;
        CUDA_RESOURCE_DESC of{};
        if (const cudaError_t error = to_driver(*resource, of); error != cudaSuccess) return error;
        return result_of(d.SurfObjectCreate(object, &of));
    });
}

CUPOLA_CUDART cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object) {
    return entry([&](const Driver& d) { return d.SurfObjectDestroy(object); });
}

CUPOLA_CUDART cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* resource,
                                                           cudaSurfaceObject_t object) {
    return entry([&](const Driver& d) {
        if (!resource) return cudaErrorInvalidDevice;
        CUDA_RESOURCE_DESC found{};
        const CUresult result = d.SurfObjectGetResourceDesc(&found, object);
        return result == CUDA_SUCCESS ? to_runtime(found, *resource) : result_of(result);
    });
}
