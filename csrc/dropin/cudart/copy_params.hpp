// csrc/dropin/cudart/copy_params.hpp - the runtime's descriptions of copies as the driver's, and
// back.
#pragma once

#include <cstddef>

#include "dropin/cudart/driver.hpp"

namespace cupola::cudart {

// A context must be current. Where an array takes part, the extent and all positions count its
// elements, those of the other side's pointer too; else they count bytes. A destination array is in
// device memory whatever the kind says, and a source array must be there by the kind.
//
// cudaErrorInvalidMemcpyDirection: there is no such kind.
// cudaErrorInvalidValue: a side has both an array and a pointer, or neither, or the arrays'
// elements differ in size. cudaErrorInvalidPitchValue: rows or slices of a pointer overlap.
cudaError_t copy_params(const cudaMemcpy3DParms& from, CUDA_MEMCPY3D& to);
cudaError_t copy_params(const cudaMemcpy3DPeerParms& from, CUDA_MEMCPY3D_PEER& to);

// The inverse. The driver does not keep a pointer's xsize.
cudaError_t copy_params(const CUDA_MEMCPY3D& from, cudaMemcpy3DParms& to);

// A copy of bytes from a pointer to another.
cudaError_t linear_copy_params(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                               CUDA_MEMCPY3D& copy);

}  // namespace cupola::cudart
