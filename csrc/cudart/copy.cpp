// csrc/cudart/copy.cpp - copies in the driver's terms, and copies between devices.
#include "cudart/copy.hpp"

#include "cudart/channel.hpp"
#include "cudart/cudart.hpp"

namespace cupola::cudart {
namespace {

// The fields that the driver's two structures share. The caller sets the contexts.
template <class Given, class Made>
cudaError_t describe_copy(const Driver& d, const Given& given, CopySides sides, Made& made) {
    const bool from_array = given.srcArray, to_array = given.dstArray;
    if (from_array == (given.srcPtr.ptr != nullptr) || to_array == (given.dstPtr.ptr != nullptr))
        return cudaErrorInvalidValue;
    ArrayRow from{1, 0}, to{1, 0};
    if (from_array)
        if (const cudaError_t error = row_of(d, given.srcArray, from); error != cudaSuccess)
            return error;
    if (to_array)
        if (const cudaError_t error = row_of(d, given.dstArray, to); error != cudaSuccess)
            return error;
    if (from_array && to_array && from.element != to.element) return cudaErrorInvalidValue;
    made = {};
    made.srcMemoryType = from_array ? CU_MEMORYTYPE_ARRAY : sides.from;
    made.srcArray = driver_array(given.srcArray);
    made.srcHost = given.srcPtr.ptr;
    made.srcDevice = device_address(given.srcPtr.ptr);
    made.srcPitch = given.srcPtr.pitch;
    made.srcHeight = given.srcPtr.ysize;
    made.srcXInBytes = given.srcPos.x * from.element;
    made.srcY = given.srcPos.y;
    made.srcZ = given.srcPos.z;
    made.dstMemoryType = to_array ? CU_MEMORYTYPE_ARRAY : sides.to;
    made.dstArray = driver_array(given.dstArray);
    made.dstHost = given.dstPtr.ptr;
    made.dstDevice = device_address(given.dstPtr.ptr);
    made.dstPitch = given.dstPtr.pitch;
    made.dstHeight = given.dstPtr.ysize;
    made.dstXInBytes = given.dstPos.x * to.element;
    made.dstY = given.dstPos.y;
    made.dstZ = given.dstPos.z;
    made.WidthInBytes = given.extent.width * (from_array ? from.element : to.element);
    made.Height = given.extent.height;
    made.Depth = given.extent.depth;
    if ((!from_array && made.WidthInBytes > made.srcPitch) ||
        (!to_array && made.WidthInBytes > made.dstPitch))
        return cudaErrorInvalidPitchValue;
    return cudaSuccess;
}

struct Peers {
    CUcontext to = nullptr, from = nullptr;
};

cudaError_t find_peers(int to, int from, Peers& peers) {
    const cudaError_t error = Runtime::get().primary_of(to, peers.to);
    return error == cudaSuccess ? Runtime::get().primary_of(from, peers.from) : error;
}

}  // namespace

cudaError_t sides_of(cudaMemcpyKind kind, CopySides& sides) {
    switch (kind) {
        case cudaMemcpyHostToHost:
            sides = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST};
            return cudaSuccess;
        case cudaMemcpyHostToDevice:
            sides = {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST};
            return cudaSuccess;
        case cudaMemcpyDeviceToHost:
            sides = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE};
            return cudaSuccess;
        case cudaMemcpyDeviceToDevice:
            sides = {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE};
            return cudaSuccess;
        case cudaMemcpyDefault:
            sides = {CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_UNIFIED};
            return cudaSuccess;
    }
    return cudaErrorInvalidMemcpyDirection;
}

cudaError_t side_facing_array(cudaMemcpyKind kind, bool array_is_source, CUmemorytype& side) {
    CopySides sides{};
    if (const cudaError_t error = sides_of(kind, sides); error != cudaSuccess) return error;
    side = array_is_source ? sides.to : sides.from;
    return (array_is_source ? sides.from : sides.to) == CU_MEMORYTYPE_HOST
               ? cudaErrorInvalidMemcpyDirection
               : cudaSuccess;
}

cudaError_t row_of(const Driver& d, cudaArray_const_t array, ArrayRow& row) {
    CUDA_ARRAY3D_DESCRIPTOR found{};
    const CUresult result = d.Array3DGetDescriptor(&found, driver_array(array));
    if (result != CUDA_SUCCESS) return result_of(result);
    row.element = element_bytes(found.Format, found.NumChannels);
    row.bytes = row.element * found.Width;
    return cudaSuccess;
}

cudaError_t to_driver(const Driver& d, const cudaMemcpy3DParms& given, CUDA_MEMCPY3D& made) {
    CopySides sides{};
    if (const cudaError_t error = sides_of(given.kind, sides); error != cudaSuccess) return error;
    if ((given.srcArray && sides.from == CU_MEMORYTYPE_HOST) ||
        (given.dstArray && sides.to == CU_MEMORYTYPE_HOST))
        return cudaErrorInvalidMemcpyDirection;
    return describe_copy(d, given, sides, made);
}

cudaError_t to_driver(const Driver& d, const cudaMemcpy3DPeerParms& given,
                      CUDA_MEMCPY3D_PEER& made) {
    Peers peers;
    if (const cudaError_t error = find_peers(given.dstDevice, given.srcDevice, peers);
        error != cudaSuccess)
        return error;
    const cudaError_t error =
        describe_copy(d, given, {CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_DEVICE}, made);
    made.srcContext = peers.from;
    made.dstContext = peers.to;
    return error;
}

}  // namespace cupola::cudart

using namespace cupola::cudart;

// These two have no twin for the thread's own default stream.
CUPOLA_CUDART cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                                         size_t count) {
    return entry([&](const Driver& d) {
        Peers peers;
        const cudaError_t error = find_peers(to_device, from_device, peers);
        return error == cudaSuccess
                   ? result_of(d.MemcpyPeer(device_address(to), peers.to, device_address(from),
                                            peers.from, count))
                   : error;
    });
}

CUPOLA_CUDART cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from,
                                              int from_device, size_t count, cudaStream_t stream) {
    return entry([&](const Driver& d) {
        Peers peers;
        const cudaError_t error = find_peers(to_device, from_device, peers);
        return error == cudaSuccess
                   ? result_of(d.MemcpyPeerAsync(device_address(to), peers.to, device_address(from),
                                                 peers.from, count, stream))
                   : error;
    });
}
