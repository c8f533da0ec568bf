// csrc/dropin/cudart/stream/copy_shapes.cpp - copies in two and three dimensions.
#include "dropin/cudart/copy.hpp"
#include "dropin/cudart/copy_params.hpp"
#include "dropin/cudart/cudart.hpp"

namespace cupola::cudart {
namespace {

cudaError_t copy_rows(const Driver& d, void* to, std::size_t to_pitch, const void* from,
                      std::size_t from_pitch, std::size_t width, std::size_t height,
                      cudaMemcpyKind kind, const cudaStream_t* stream) {
    CopySides sides{};
    if (width == 0 || height == 0) return cudaSuccess;
    if (const cudaError_t error = sides_of(kind, sides); error != cudaSuccess) return error;
    if (is_pitch_too_small(to_pitch, width, height) ||
        is_pitch_too_small(from_pitch, width, height))
        return cudaErrorInvalidPitchValue;
    CUDA_MEMCPY2D copy{};
    set_destination(copy, sides.to, to, to_pitch);
    set_source(copy, sides.from, from, from_pitch);
    return run_copy(d, copy, width, height, stream);
}

template <class Copy>
bool is_empty(const Copy& copy) {
    return copy.WidthInBytes == 0 || copy.Height == 0 || copy.Depth == 0;
}

cudaError_t copy_box(const Driver& d, const cudaMemcpy3DParms* given, const cudaStream_t* stream) {
    if (!given) return cudaErrorInvalidValue;
    CUDA_MEMCPY3D copy{};
    if (const cudaError_t error = copy_params(*given, copy); error != cudaSuccess) return error;
    if (is_empty(copy)) return cudaSuccess;
    return result_of(stream ? d.Memcpy3DAsync(&copy, *stream) : d.Memcpy3D(&copy));
}

cudaError_t copy_box(const Driver& d, const cudaMemcpy3DPeerParms* given,
                     const cudaStream_t* stream) {
    if (!given) return cudaErrorInvalidValue;
    CUDA_MEMCPY3D_PEER copy{};
    if (const cudaError_t error = copy_params(*given, copy); error != cudaSuccess) return error;
    if (is_empty(copy)) return cudaSuccess;
    return result_of(stream ? d.Memcpy3DPeerAsync(&copy, *stream) : d.Memcpy3DPeer(&copy));
}

}  // namespace
}  // namespace cupola::cudart

using namespace cupola::cudart;

CUPOLA_CUDART cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from,
                                       size_t from_pitch, size_t width, size_t height,
                                       cudaMemcpyKind kind) {
    return entry([&](const Driver& d) {
        return copy_rows(d, to, to_pitch, from, from_pitch, width, height, kind, nullptr);
    });
}

CUPOLA_CUDART cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from,
                                            size_t from_pitch, size_t width, size_t height,
                                            cudaMemcpyKind kind, cudaStream_t stream) {
    return entry([&](const Driver& d) {
        return copy_rows(d, to, to_pitch, from, from_pitch, width, height, kind, &stream);
    });
}

CUPOLA_CUDART cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* copy) {
    return entry([&](const Driver& d) { return copy_box(d, copy, nullptr); });
}

CUPOLA_CUDART cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* copy, cudaStream_t stream) {
    return entry([&](const Driver& d) { return copy_box(d, copy, &stream); });
}

CUPOLA_CUDART cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* copy) {
    return entry([&](const Driver& d) { return copy_box(d, copy, nullptr); });
}

CUPOLA_CUDART cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* copy,
                                                cudaStream_t stream) {
    return entry([&](const Driver& d) { return copy_box(d, copy, &stream); });
}
