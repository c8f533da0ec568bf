// csrc/dropin/cudart/copy.hpp - copies in the driver's terms.
#pragma once

#include "dropin/cudart/driver.hpp"

namespace cupola::cudart {

// Whether each side is memory of the host or the device. cudaMemcpyDefault: the driver finds out.
struct CopySides {
    CUmemorytype to, from;
};
cudaError_t sides_of(cudaMemcpyKind kind, CopySides& sides);
// The side of the copy that is no array. cudaErrorInvalidMemcpyDirection: by the kind of copy, the
// array would be on the host.
cudaError_t side_facing_array(cudaMemcpyKind kind, bool array_is_source, CUmemorytype& side);

// The primary contexts of a copy's devices.
struct Peers {
    CUcontext to = nullptr, from = nullptr;
};
cudaError_t find_peers(int to, int from, Peers& peers);

// The bytes of an element of an array, and of one of its rows.
struct ArrayRow {
    std::size_t element, bytes;
};
// cudaErrorInvalidChannelDescriptor: the array has several planes.
cudaError_t row_of(const Driver& d, cudaArray_const_t array, ArrayRow& row);

inline void set_source(CUDA_MEMCPY2D& copy, CUmemorytype type, const void* pointer,
                       std::size_t pitch) {
    copy.srcMemoryType = type;
    copy.srcHost = pointer;
    copy.srcDevice = device_address(pointer);
    copy.srcPitch = pitch;
}

inline void set_source(CUDA_MEMCPY2D& copy, cudaArray_const_t array, std::size_t x, std::size_t y) {
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = driver_array(array);
    copy.srcXInBytes = x;
    copy.srcY = y;
}

inline void set_destination(CUDA_MEMCPY2D& copy, CUmemorytype type, void* pointer,
                            std::size_t pitch) {
    copy.dstMemoryType = type;
    copy.dstHost = pointer;
    copy.dstDevice = device_address(pointer);
    copy.dstPitch = pitch;
}

inline void set_destination(CUDA_MEMCPY2D& copy, cudaArray_t array, std::size_t x, std::size_t y) {
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = driver_array(array);
    copy.dstXInBytes = x;
    copy.dstY = y;
}

// Whether rows overlap in memory with this pitch.
inline bool is_pitch_too_small(std::size_t pitch, std::size_t width, std::size_t height) {
    return height > 1 && width > pitch;
}

// A stream of null is a synchronous call's. The driver refuses copies of nothing.
inline cudaError_t run_copy(const Driver& d, CUDA_MEMCPY2D& copy, std::size_t width,
                            std::size_t height, const cudaStream_t* stream) {
    copy.WidthInBytes = width;
    copy.Height = height;
    // Of the synchronous functions, cuMemcpy2DUnaligned alone takes any pitch.
    return static_cast<cudaError_t>(stream ? d.Memcpy2DAsync(&copy, *stream)
                                           : d.Memcpy2DUnaligned(&copy));
}

}  // namespace cupola::cudart
