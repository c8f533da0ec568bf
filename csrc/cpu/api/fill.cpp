// csrc/cpu/api/fill.cpp - cu* entry points: fills. As in NVIDIA's driver, a synchronous fill waits
// if the host can read the memory.
#include <utility>

#include "cpu/api/handle.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/launch/capture.hpp"
#include "cpu/device/stream/copy.hpp"
#include "cpu/device/stream/stream.hpp"

using namespace cupola::cpu;

namespace {

CUresult fill(const Fill& what, Stream& stream, bool wait) {
    if (what.width == 0 || what.height == 0) return CUDA_SUCCESS;
    auto operation = fill_operation(what, stream);
    if (const auto capture = Capture::of(stream)) {
        capture->add(stream, what);
        return CUDA_SUCCESS;
    }
    if (!wait) {
        stream.submit(std::move(operation));
        return CUDA_SUCCESS;
    }
    stream.perform(std::move(operation));
    return stream.context_pointer()->error();
}

CUresult rectangle(CUdeviceptr to, std::size_t pitch, std::uint32_t value, std::size_t element,
                   std::size_t width, std::size_t height, CUstream stream, bool wait = false) {
    return entry([&] {
        return fill({to, pitch, value, element, width, height}, *stream_of(stream),
                    wait && Driver::get().memory.host_reads(to));
    });
}

CUresult line(CUdeviceptr to, std::uint32_t value, std::size_t element, std::size_t count,
              CUstream stream, bool wait = false) {
    return rectangle(to, 0, value, element, count, 1, stream, wait);
}

}  // namespace

CUPOLA_API CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
    return line(to, value, 1, count, CU_STREAM_LEGACY, true);
}
CUPOLA_ALIAS(cuMemsetD8, cuMemsetD8_v2);
CUPOLA_API CUresult cuMemsetD8_v2_ptds(CUdeviceptr to, unsigned char value, size_t count) {
    return line(to, value, 1, count, CU_STREAM_PER_THREAD, true);
}
CUPOLA_API CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count,
                                    CUstream stream) {
    return line(to, value, 1, count, stream);
}
CUPOLA_API CUresult cuMemsetD8Async_ptsz(CUdeviceptr to, unsigned char value, size_t count,
                                         CUstream stream) {
    return line(to, value, 1, count, Stream::per_thread(stream));
}

CUPOLA_API CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                                    size_t height) {
    return rectangle(to, pitch, value, 1, width, height, CU_STREAM_LEGACY, true);
}
CUPOLA_ALIAS(cuMemsetD2D8, cuMemsetD2D8_v2);
CUPOLA_API CUresult cuMemsetD2D8_v2_ptds(CUdeviceptr to, size_t pitch, unsigned char value,
                                         size_t width, size_t height) {
    return rectangle(to, pitch, value, 1, width, height, CU_STREAM_PER_THREAD, true);
}
CUPOLA_API CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value,
                                      size_t width, size_t height, CUstream stream) {
    return rectangle(to, pitch, value, 1, width, height, stream);
}
CUPOLA_API CUresult cuMemsetD2D8Async_ptsz(CUdeviceptr to, size_t pitch, unsigned char value,
                                           size_t width, size_t height, CUstream stream) {
    return rectangle(to, pitch, value, 1, width, height, Stream::per_thread(stream));
}

CUPOLA_API CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count) {
    return line(to, value, 2, count, CU_STREAM_LEGACY, true);
}
CUPOLA_ALIAS(cuMemsetD16, cuMemsetD16_v2);
CUPOLA_API CUresult cuMemsetD16_v2_ptds(CUdeviceptr to, unsigned short value, size_t count) {
    return line(to, value, 2, count, CU_STREAM_PER_THREAD, true);
}
CUPOLA_API CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count,
                                     CUstream stream) {
    return line(to, value, 2, count, stream);
}
CUPOLA_API CUresult cuMemsetD16Async_ptsz(CUdeviceptr to, unsigned short value, size_t count,
                                          CUstream stream) {
    return line(to, value, 2, count, Stream::per_thread(stream));
}

CUPOLA_API CUresult cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value,
                                     size_t width, size_t height) {
    return rectangle(to, pitch, value, 2, width, height, CU_STREAM_LEGACY, true);
}
CUPOLA_ALIAS(cuMemsetD2D16, cuMemsetD2D16_v2);
CUPOLA_API CUresult cuMemsetD2D16_v2_ptds(CUdeviceptr to, size_t pitch, unsigned short value,
                                          size_t width, size_t height) {
    return rectangle(to, pitch, value, 2, width, height, CU_STREAM_PER_THREAD, true);
}
CUPOLA_API CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value,
                                       size_t width, size_t height, CUstream stream) {
    return rectangle(to, pitch, value, 2, width, height, stream);
}
CUPOLA_API CUresult cuMemsetD2D16Async_ptsz(CUdeviceptr to, size_t pitch, unsigned short value,
                                            size_t width, size_t height, CUstream stream) {
    return rectangle(to, pitch, value, 2, width, height, Stream::per_thread(stream));
}

CUPOLA_API CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned int value, size_t count) {
    return line(to, value, 4, count, CU_STREAM_LEGACY, true);
}
CUPOLA_ALIAS(cuMemsetD32, cuMemsetD32_v2);
CUPOLA_API CUresult cuMemsetD32_v2_ptds(CUdeviceptr to, unsigned int value, size_t count) {
    return line(to, value, 4, count, CU_STREAM_PER_THREAD, true);
}
CUPOLA_API CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count,
                                     CUstream stream) {
    return line(to, value, 4, count, stream);
}
CUPOLA_API CUresult cuMemsetD32Async_ptsz(CUdeviceptr to, unsigned int value, size_t count,
                                          CUstream stream) {
    return line(to, value, 4, count, Stream::per_thread(stream));
}

CUPOLA_API CUresult cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned int value, size_t width,
                                     size_t height) {
    return rectangle(to, pitch, value, 4, width, height, CU_STREAM_LEGACY, true);
}
CUPOLA_ALIAS(cuMemsetD2D32, cuMemsetD2D32_v2);
CUPOLA_API CUresult cuMemsetD2D32_v2_ptds(CUdeviceptr to, size_t pitch, unsigned int value,
                                          size_t width, size_t height) {
    return rectangle(to, pitch, value, 4, width, height, CU_STREAM_PER_THREAD, true);
}
CUPOLA_API CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned int value,
                                       size_t width, size_t height, CUstream stream) {
    return rectangle(to, pitch, value, 4, width, height, stream);
}
CUPOLA_API CUresult cuMemsetD2D32Async_ptsz(CUdeviceptr to, size_t pitch, unsigned int value,
                                            size_t width, size_t height, CUstream stream) {
    return rectangle(to, pitch, value, 4, width, height, Stream::per_thread(stream));
}
