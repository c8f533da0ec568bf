// csrc/cudart/copy_params.hpp - the runtime's descriptions of copies as the driver's, and back.
#pragma once

#include <cstddef>

#include "cudart/driver.hpp"

namespace cupola::cudart {

// A context must be current. The extent counts elements of the array that takes part, else bytes;
// positions count elements of their own side. An array is in device memory whatever the kind says.
//
// cudaErrorInvalidMemcpyDirection: there is no such kind.
// cudaErrorInvalidValue: a side has both an array and a pointer, or neither, or the arrays'
// elements differ in size. cudaErrorInvalidPitchValue: rows of a pointer overlap.
cudaError_t copy_params(const cudaMemcpy3DParms& from, CUDA_MEMCPY3D& to);

// The inverse. The driver does not keep a pointer's xsize, so it becomes the pitch.
cudaError_t copy_params(const CUDA_MEMCPY3D& from, cudaMemcpy3DParms& to);

// A copy of bytes from a pointer to another.
cudaError_t linear_copy_params(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                               CUDA_MEMCPY3D& copy);

// The size of an array's element; of a compressed format, that of a block.
// cudaErrorInvalidChannelDescriptor: its planes have elements of different sizes.
cudaError_t element_bytes(CUarray array, std::size_t& bytes);

}  // namespace cupola::cudart
