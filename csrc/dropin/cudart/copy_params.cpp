// csrc/dropin/cudart/copy_params.cpp - the runtime's descriptions of copies as the driver's, and
// back.
#include "dropin/cudart/copy_params.hpp"

#include <algorithm>

#include "dropin/cudart/copy.hpp"

namespace cupola::cudart {
namespace {

cudaMemcpyKind copy_kind(CUmemorytype from, CUmemorytype to) {
    if (from == CU_MEMORYTYPE_UNIFIED || to == CU_MEMORYTYPE_UNIFIED) return cudaMemcpyDefault;
    if (from == CU_MEMORYTYPE_HOST)
        return to == CU_MEMORYTYPE_HOST ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
    return to == CU_MEMORYTYPE_HOST ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

// The bytes of an element in which the extent and the positions are counted. Either array may be
// null.
cudaError_t counted_bytes(cudaArray_const_t from, cudaArray_const_t to, std::size_t& bytes) {
    const Driver& d = driver_tables[0];
    ArrayRow from_row{1, 0}, to_row{1, 0};
    if (from)
        if (const cudaError_t error = row_of(d, from, from_row); error != cudaSuccess) return error;
    if (to)
        if (const cudaError_t error = row_of(d, to, to_row); error != cudaSuccess) return error;
    if (from && to && from_row.element != to_row.element) return cudaErrorInvalidValue;
    bytes = std::max(from_row.element, to_row.element);
    return cudaSuccess;
}

// Whether the rows and the slices of a copy do not overlap in the memory of a pointer. The driver
// checks the positions.
template <class Copy>
bool fits(const Copy& copy, const cudaPitchedPtr& pointer) {
    if (copy.Depth > 1 && copy.Height > pointer.ysize) return false;
    return (copy.Height <= 1 && copy.Depth <= 1) || copy.WidthInBytes <= pointer.pitch;
}

// The fields that the driver's two structures share. The caller sets the contexts.
template <class From, class To>
cudaError_t describe_copy(const From& from, CopySides sides, To& to) {
    to = {};
    if (!from.srcArray == !from.srcPtr.ptr || !from.dstArray == !from.dstPtr.ptr)
        return cudaErrorInvalidValue;
    if (from.srcArray && sides.from == CU_MEMORYTYPE_HOST) return cudaErrorInvalidValue;
    std::size_t bytes = 1;
    if (const cudaError_t error = counted_bytes(from.srcArray, from.dstArray, bytes);
        error != cudaSuccess)
        return error;
    if (__builtin_mul_overflow(from.extent.width, bytes, &to.WidthInBytes) ||
        __builtin_mul_overflow(from.srcPos.x, bytes, &to.srcXInBytes) ||
        __builtin_mul_overflow(from.dstPos.x, bytes, &to.dstXInBytes))
        return cudaErrorInvalidValue;
    to.Height = from.extent.height;
    to.Depth = from.extent.depth;
    to.srcY = from.srcPos.y;
    to.srcZ = from.srcPos.z;
    to.dstY = from.dstPos.y;
    to.dstZ = from.dstPos.z;
    if ((!from.srcArray && !fits(to, from.srcPtr)) || (!from.dstArray && !fits(to, from.dstPtr)))
        return cudaErrorInvalidPitchValue;
    to.srcMemoryType = from.srcArray ? CU_MEMORYTYPE_ARRAY : sides.from;
    to.srcArray = driver_array(from.srcArray);
    to.srcHost = from.srcPtr.ptr;
    to.srcDevice = device_address(from.srcPtr.ptr);
    to.srcPitch = from.srcPtr.pitch;
    to.srcHeight = from.srcPtr.ysize;
    to.dstMemoryType = from.dstArray ? CU_MEMORYTYPE_ARRAY : sides.to;
    to.dstArray = driver_array(from.dstArray);
    to.dstHost = from.dstPtr.ptr;
    to.dstDevice = device_address(from.dstPtr.ptr);
    to.dstPitch = from.dstPtr.pitch;
    to.dstHeight = from.dstPtr.ysize;
    return cudaSuccess;
}

}  // namespace

cudaError_t copy_params(const cudaMemcpy3DParms& from, CUDA_MEMCPY3D& to) {
    CopySides sides{};
    const cudaError_t error = sides_of(from.kind, sides);
    return error == cudaSuccess ? describe_copy(from, sides, to) : error;
}

cudaError_t copy_params(const cudaMemcpy3DPeerParms& from, CUDA_MEMCPY3D_PEER& to) {
    Peers peers;
    if (const cudaError_t error = find_peers(from.dstDevice, from.srcDevice, peers);
        error != cudaSuccess)
        return error;
    const cudaError_t error = describe_copy(from, {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE}, to);
    to.srcContext = peers.from;
    to.dstContext = peers.to;
    return error;
}

cudaError_t copy_params(const CUDA_MEMCPY3D& from, cudaMemcpy3DParms& to) {
    to = {};
    if (from.srcMemoryType == CU_MEMORYTYPE_ARRAY) {
        to.srcArray = reinterpret_cast<cudaArray_t>(from.srcArray);
    } else {
        to.srcPtr.ptr = from.srcMemoryType == CU_MEMORYTYPE_HOST
                            ? const_cast<void*>(from.srcHost)
                            : reinterpret_cast<void*>(from.srcDevice);
        to.srcPtr.pitch = from.srcPitch;
        to.srcPtr.ysize = from.srcHeight;
    }
    if (from.dstMemoryType == CU_MEMORYTYPE_ARRAY) {
        to.dstArray = reinterpret_cast<cudaArray_t>(from.dstArray);
    } else {
        to.dstPtr.ptr = from.dstMemoryType == CU_MEMORYTYPE_HOST
                            ? from.dstHost
                            : reinterpret_cast<void*>(from.dstDevice);
        to.dstPtr.pitch = from.dstPitch;
        to.dstPtr.ysize = from.dstHeight;
    }
    std::size_t bytes = 1;
    if (const cudaError_t error = counted_bytes(to.srcArray, to.dstArray, bytes);
        error != cudaSuccess)
        return error;
    to.srcPos = {from.srcXInBytes / bytes, from.srcY, from.srcZ};
    to.dstPos = {from.dstXInBytes / bytes, from.dstY, from.dstZ};
    to.extent = {from.WidthInBytes / bytes, from.Height, from.Depth};
    to.kind = copy_kind(from.srcMemoryType, from.dstMemoryType);
    return cudaSuccess;
}

cudaError_t linear_copy_params(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                               CUDA_MEMCPY3D& copy) {
    cudaMemcpy3DParms wanted{};
    // Pitches stay 0: the driver limits pitches, and a single row needs none.
    wanted.srcPtr.ptr = const_cast<void*>(from);
    wanted.dstPtr.ptr = to;
    wanted.extent = {bytes, 1, 1};
    wanted.kind = kind;
    return copy_params(wanted, copy);
}

}  // namespace cupola::cudart
