// csrc/dropin/cudart/copy.cpp - copies in the driver's terms, and copies between devices.
#include "dropin/cudart/copy.hpp"

#include "dropin/cudart/channel.hpp"
#include "dropin/cudart/cudart.hpp"

namespace cupola::cudart {

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

cudaError_t find_peers(int to, int from, Peers& peers) {
    const cudaError_t error = Runtime::get().primary_of(to, peers.to);
    return error == cudaSuccess ? Runtime::get().primary_of(from, peers.from) : error;
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
    return row.element ? cudaSuccess : cudaErrorInvalidChannelDescriptor;
}

}  // namespace cupola::cudart

using namespace cupola::cudart;

// These two functions have no second form for the thread's own default stream.
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
