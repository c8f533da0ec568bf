// csrc/cpu/api/copy.cpp - cu* entry points: linear copies.
#include "cpu/api/copy.hpp"

#include <memory>
#include <utility>

#include "cpu/api/handle.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/launch/capture.hpp"
#include "cpu/device/stream/stream.hpp"

namespace cupola::cpu {
namespace {

// Pageable memory up to this size is staged at the call. Larger copies wait, as in NVIDIA's driver:
// to stage them would take memory and save little time.
constexpr std::size_t staged = 64 << 10;

}  // namespace

CUresult copy(const Copy& what, Stream& stream, bool wait) {
    if (what.width == 0 || what.height == 0 || what.depth == 0) return CUDA_SUCCESS;
    const CheckedCopy prepared = checked(stream.context_pointer()->driver().memory, what);
    const Copy& copy = prepared.copy;
    const bool from_pageable = prepared.from_pageable, to_pageable = prepared.to_pageable;
    if (wait) {
        Capture::forbid(stream);
        Capture::forbid(Driver::get());
    }
    if (const auto capture = Capture::of(stream)) {
        capture->add(stream, what);
        return CUDA_SUCCESS;
    }
    const std::size_t bytes = copy.width * copy.height * copy.depth;
    if (!wait && from_pageable && !to_pageable && bytes <= staged) {
        stream.submit(staged_operation(prepared, stream));
        return CUDA_SUCCESS;
    }
    auto operation = copy_operation(prepared, stream);
    if (!wait && !from_pageable && !to_pageable) {
        stream.submit(std::move(operation));
        return CUDA_SUCCESS;
    }
    stream.perform(std::move(operation));
    return stream.context_pointer()->error();
}

CUresult copy(Side::Space to, std::uintptr_t destination, Side::Space from, std::uintptr_t source,
              std::size_t bytes, Stream& stream, bool wait) {
    Copy line;
    line.destination = {to, destination, 0, 0};
    line.source = {from, source, 0, 0};
    line.width = bytes;
    return copy(line, stream, wait);
}

}  // namespace cupola::cpu

using namespace cupola::cpu;

namespace {

using Space = Side::Space;

std::uintptr_t integer(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

CUresult linear(Space to, std::uintptr_t destination, Space from, std::uintptr_t source,
                size_t bytes, CUstream stream, bool wait) {
    return entry(
        [&] { return copy(to, destination, from, source, bytes, *stream_of(stream), wait); });
}

CUresult between_devices(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return entry([&] {
        const MemoryMap& memory = Driver::get().memory;
        return copy(Space::device, to, Space::device, from, bytes, *stream_of(stream),
                    memory.host_reads(to) || memory.host_reads(from));
    });
}

// The contexts of a peer copy are checked only: an address already identifies its memory. Like
// NVIDIA's driver, this call refuses a stream that is being captured.
CUresult peer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
              size_t bytes, CUstream stream, bool wait) {
    return entry([&] {
        context_or_current(to_context);  // null means the current context
        context_or_current(from_context);
        const auto on = stream_of(stream);
        Capture::forbid(*on);
        return copy(Space::device, to, Space::device, from, bytes, *on, wait);
    });
}

}  // namespace

// Synchronous copies.

CUPOLA_API CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return linear(Space::unified, to, Space::unified, from, bytes, CU_STREAM_LEGACY, true);
}
CUPOLA_API CUresult cuMemcpy_ptds(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return linear(Space::unified, to, Space::unified, from, bytes, CU_STREAM_PER_THREAD, true);
}

CUPOLA_API CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
    return linear(Space::device, to, Space::host, integer(from), bytes, CU_STREAM_LEGACY, true);
}
CUPOLA_ALIAS(cuMemcpyHtoD, cuMemcpyHtoD_v2);
CUPOLA_API CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr to, const void* from, size_t bytes) {
    return linear(Space::device, to, Space::host, integer(from), bytes, CU_STREAM_PER_THREAD, true);
}

CUPOLA_API CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
    return linear(Space::host, integer(to), Space::device, from, bytes, CU_STREAM_LEGACY, true);
}
CUPOLA_ALIAS(cuMemcpyDtoH, cuMemcpyDtoH_v2);
CUPOLA_API CUresult cuMemcpyDtoH_v2_ptds(void* to, CUdeviceptr from, size_t bytes) {
    return linear(Space::host, integer(to), Space::device, from, bytes, CU_STREAM_PER_THREAD, true);
}

// As on hardware, the host does not wait for a copy between device memory. The host waits if one
// side is page-locked or managed memory: such memory has device addresses, too, and the host may
// read it next.
CUPOLA_API CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return between_devices(to, from, bytes, CU_STREAM_LEGACY);
}
CUPOLA_ALIAS(cuMemcpyDtoD, cuMemcpyDtoD_v2);
CUPOLA_API CUresult cuMemcpyDtoD_v2_ptds(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    return between_devices(to, from, bytes, CU_STREAM_PER_THREAD);
}

CUPOLA_API CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                                 CUcontext from_context, size_t bytes) {
    return peer(to, to_context, from, from_context, bytes, CU_STREAM_LEGACY, true);
}
CUPOLA_API CUresult cuMemcpyPeer_ptds(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                                      CUcontext from_context, size_t bytes) {
    return peer(to, to_context, from, from_context, bytes, CU_STREAM_PER_THREAD, true);
}

// Asynchronous copies.

CUPOLA_API CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    return linear(Space::unified, to, Space::unified, from, bytes, stream, false);
}
CUPOLA_API CUresult cuMemcpyAsync_ptsz(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                       CUstream stream) {
    return cuMemcpyAsync(to, from, bytes, Stream::per_thread(stream));
}

CUPOLA_API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes,
                                         CUstream stream) {
    return linear(Space::device, to, Space::host, integer(from), bytes, stream, false);
}
CUPOLA_ALIAS(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2);
CUPOLA_API CUresult cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr to, const void* from, size_t bytes,
                                              CUstream stream) {
    return cuMemcpyHtoDAsync_v2(to, from, bytes, Stream::per_thread(stream));
}

CUPOLA_API CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes,
                                         CUstream stream) {
    return linear(Space::host, integer(to), Space::device, from, bytes, stream, false);
}
CUPOLA_ALIAS(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2);
CUPOLA_API CUresult cuMemcpyDtoHAsync_v2_ptsz(void* to, CUdeviceptr from, size_t bytes,
                                              CUstream stream) {
    return cuMemcpyDtoHAsync_v2(to, from, bytes, Stream::per_thread(stream));
}

CUPOLA_API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                         CUstream stream) {
    return linear(Space::device, to, Space::device, from, bytes, stream, false);
}
CUPOLA_ALIAS(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2);
CUPOLA_API CUresult cuMemcpyDtoDAsync_v2_ptsz(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                                              CUstream stream) {
    return cuMemcpyDtoDAsync_v2(to, from, bytes, Stream::per_thread(stream));
}

CUPOLA_API CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                                      CUcontext from_context, size_t bytes, CUstream stream) {
    return peer(to, to_context, from, from_context, bytes, stream, false);
}
CUPOLA_API CUresult cuMemcpyPeerAsync_ptsz(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                                           CUcontext from_context, size_t bytes, CUstream stream) {
    return cuMemcpyPeerAsync(to, to_context, from, from_context, bytes, Stream::per_thread(stream));
}
