// csrc/cudart/copy_params.cpp - the runtime's descriptions of copies as the driver's, and back.
#include "cudart/copy_params.hpp"

#include <algorithm>

namespace cupola::cudart {
namespace {

// Bytes of an element; 0: the format has several planes.
std::size_t array_format_bytes(CUarray_format format, unsigned channels) {
    constexpr int unorm_10_10_10_2 = 0x50;
    switch (static_cast<int>(format)) {
        case CU_AD_FORMAT_UNSIGNED_INT8:
        case CU_AD_FORMAT_SIGNED_INT8:
            return channels;
        case CU_AD_FORMAT_UNSIGNED_INT16:
        case CU_AD_FORMAT_SIGNED_INT16:
        case CU_AD_FORMAT_HALF:
            return 2 * channels;
        case CU_AD_FORMAT_UNSIGNED_INT32:
        case CU_AD_FORMAT_SIGNED_INT32:
        case CU_AD_FORMAT_FLOAT:
            return 4 * channels;
        case CU_AD_FORMAT_UNORM_INT8X1:
        case CU_AD_FORMAT_SNORM_INT8X1:
            return 1;
        case CU_AD_FORMAT_UNORM_INT8X2:
        case CU_AD_FORMAT_SNORM_INT8X2:
        case CU_AD_FORMAT_UNORM_INT16X1:
        case CU_AD_FORMAT_SNORM_INT16X1:
            return 2;
        case CU_AD_FORMAT_UNORM_INT8X4:
        case CU_AD_FORMAT_SNORM_INT8X4:
        case CU_AD_FORMAT_UNORM_INT16X2:
        case CU_AD_FORMAT_SNORM_INT16X2:
        case unorm_10_10_10_2:
            return 4;
        case CU_AD_FORMAT_UNORM_INT16X4:
        case CU_AD_FORMAT_SNORM_INT16X4:
        case CU_AD_FORMAT_BC1_UNORM:
        case CU_AD_FORMAT_BC1_UNORM_SRGB:
        case CU_AD_FORMAT_BC4_UNORM:
        case CU_AD_FORMAT_BC4_SNORM:
            return 8;
        case CU_AD_FORMAT_BC2_UNORM:
        case CU_AD_FORMAT_BC2_UNORM_SRGB:
        case CU_AD_FORMAT_BC3_UNORM:
        case CU_AD_FORMAT_BC3_UNORM_SRGB:
        case CU_AD_FORMAT_BC5_UNORM:
        case CU_AD_FORMAT_BC5_SNORM:
        case CU_AD_FORMAT_BC6H_UF16:
        case CU_AD_FORMAT_BC6H_SF16:
        case CU_AD_FORMAT_BC7_UNORM:
        case CU_AD_FORMAT_BC7_UNORM_SRGB:
            return 16;
        default:
            return 0;
    }
}

bool is_copy_kind(cudaMemcpyKind kind) { return static_cast<unsigned>(kind) <= cudaMemcpyDefault; }

CUmemorytype source_type(cudaMemcpyKind kind) {
    if (kind == cudaMemcpyDefault) return CU_MEMORYTYPE_UNIFIED;
    return kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice ? CU_MEMORYTYPE_HOST
                                                                          : CU_MEMORYTYPE_DEVICE;
}

CUmemorytype destination_type(cudaMemcpyKind kind) {
    if (kind == cudaMemcpyDefault) return CU_MEMORYTYPE_UNIFIED;
    return kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost ? CU_MEMORYTYPE_HOST
                                                                          : CU_MEMORYTYPE_DEVICE;
}

cudaMemcpyKind copy_kind(CUmemorytype from, CUmemorytype to) {
    if (from == CU_MEMORYTYPE_UNIFIED || to == CU_MEMORYTYPE_UNIFIED) return cudaMemcpyDefault;
    if (from == CU_MEMORYTYPE_HOST)
        return to == CU_MEMORYTYPE_HOST ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
    return to == CU_MEMORYTYPE_HOST ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

// Whether rows of the extent that start at `x` fit between rows of the pointer.
bool rows_fit(const cudaPitchedPtr& pointer, std::size_t x, const CUDA_MEMCPY3D& copy) {
    return (copy.Height <= 1 && copy.Depth <= 1) ||
           (x <= pointer.pitch && copy.WidthInBytes <= pointer.pitch - x);
}

}  // namespace

cudaError_t element_bytes(CUarray array, std::size_t& bytes) {
    const Driver& d = driver_tables[0];
    CUDA_ARRAY3D_DESCRIPTOR description;
    if (const CUresult error = d.Array3DGetDescriptor(&description, array); error != CUDA_SUCCESS)
        return static_cast<cudaError_t>(error);
    bytes = array_format_bytes(description.Format, description.NumChannels);
    return bytes ? cudaSuccess : cudaErrorInvalidChannelDescriptor;
}

cudaError_t copy_params(const cudaMemcpy3DParms& from, CUDA_MEMCPY3D& to) {
    to = {};
    if (!is_copy_kind(from.kind)) return cudaErrorInvalidMemcpyDirection;
    if (!from.srcArray == !from.srcPtr.ptr || !from.dstArray == !from.dstPtr.ptr)
        return cudaErrorInvalidValue;
    to.srcArray = reinterpret_cast<CUarray>(from.srcArray);
    to.dstArray = reinterpret_cast<CUarray>(from.dstArray);
    std::size_t source = 1, destination = 1;
    if (to.srcArray)
        if (const cudaError_t error = element_bytes(to.srcArray, source); error != cudaSuccess)
            return error;
    if (to.dstArray)
        if (const cudaError_t error = element_bytes(to.dstArray, destination); error != cudaSuccess)
            return error;
    if (to.srcArray && to.dstArray && source != destination) return cudaErrorInvalidValue;
    if (__builtin_mul_overflow(from.extent.width, std::max(source, destination),
                               &to.WidthInBytes) ||
        __builtin_mul_overflow(from.srcPos.x, source, &to.srcXInBytes) ||
        __builtin_mul_overflow(from.dstPos.x, destination, &to.dstXInBytes))
        return cudaErrorInvalidValue;
    to.Height = from.extent.height;
    to.Depth = from.extent.depth;
    to.srcY = from.srcPos.y;
    to.srcZ = from.srcPos.z;
    to.dstY = from.dstPos.y;
    to.dstZ = from.dstPos.z;
    if (to.srcArray) {
        to.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    } else {
        if (!rows_fit(from.srcPtr, from.srcPos.x, to)) return cudaErrorInvalidPitchValue;
        to.srcMemoryType = source_type(from.kind);
        to.srcHost = from.srcPtr.ptr;
        to.srcDevice = reinterpret_cast<CUdeviceptr>(from.srcPtr.ptr);
        to.srcPitch = from.srcPtr.pitch;
        to.srcHeight = from.srcPtr.ysize;
    }
    if (to.dstArray) {
        to.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    } else {
        if (!rows_fit(from.dstPtr, from.dstPos.x, to)) return cudaErrorInvalidPitchValue;
        to.dstMemoryType = destination_type(from.kind);
        to.dstHost = from.dstPtr.ptr;
        to.dstDevice = reinterpret_cast<CUdeviceptr>(from.dstPtr.ptr);
        to.dstPitch = from.dstPtr.pitch;
        to.dstHeight = from.dstPtr.ysize;
    }
    return cudaSuccess;
}

cudaError_t copy_params(const CUDA_MEMCPY3D& from, cudaMemcpy3DParms& to) {
    to = {};
    std::size_t source = 1, destination = 1;
    if (from.srcMemoryType == CU_MEMORYTYPE_ARRAY) {
        if (const cudaError_t error = element_bytes(from.srcArray, source); error != cudaSuccess)
            return error;
        to.srcArray = reinterpret_cast<cudaArray_t>(from.srcArray);
    } else {
        to.srcPtr.ptr = from.srcMemoryType == CU_MEMORYTYPE_HOST
                            ? const_cast<void*>(from.srcHost)
                            : reinterpret_cast<void*>(from.srcDevice);
        to.srcPtr.pitch = to.srcPtr.xsize = from.srcPitch;
        to.srcPtr.ysize = from.srcHeight;
    }
    if (from.dstMemoryType == CU_MEMORYTYPE_ARRAY) {
        if (const cudaError_t error = element_bytes(from.dstArray, destination);
            error != cudaSuccess)
            return error;
        to.dstArray = reinterpret_cast<cudaArray_t>(from.dstArray);
    } else {
        to.dstPtr.ptr = from.dstMemoryType == CU_MEMORYTYPE_HOST
                            ? from.dstHost
                            : reinterpret_cast<void*>(from.dstDevice);
        to.dstPtr.pitch = to.dstPtr.xsize = from.dstPitch;
        to.dstPtr.ysize = from.dstHeight;
    }
    to.srcPos = {from.srcXInBytes / source, from.srcY, from.srcZ};
    to.dstPos = {from.dstXInBytes / destination, from.dstY, from.dstZ};
    to.extent = {from.WidthInBytes / std::max(source, destination), from.Height, from.Depth};
    to.kind = copy_kind(from.srcMemoryType, from.dstMemoryType);
    return cudaSuccess;
}

cudaError_t linear_copy_params(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                               CUDA_MEMCPY3D& copy) {
    cudaMemcpy3DParms wanted{};
    // Without pitches: those are limited, and one row needs none.
    wanted.srcPtr.ptr = const_cast<void*>(from);
    wanted.dstPtr.ptr = to;
    wanted.extent = {bytes, 1, 1};
    wanted.kind = kind;
    return copy_params(wanted, copy);
}

}  // namespace cupola::cudart
