// csrc/cpu/api/copy_array.cpp - cu* entry points: copies of bytes to, from and between arrays.
#include "cpu/api/copy.hpp"
#include "cpu/api/handle.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/stream/stream.hpp"
#include "cpu/device/texture/array.hpp"

using namespace cupola::cpu;

namespace {

Side host(const void* pointer) {
    return {Side::Space::host, reinterpret_cast<std::uintptr_t>(pointer), 0, 0, nullptr};
}
Side device(CUdeviceptr pointer) { return {Side::Space::device, pointer, 0, 0, nullptr}; }

// A range of bytes in the first row of an array.
Side array(CUarray handle, size_t offset, size_t bytes) {
    const auto array = array_of(handle);
    const std::uint64_t row = array->texels().row;
    require(offset <= row && bytes <= row - offset);
    return {Side::Space::array, array->texels().begin + offset, 0, 0, array};
}

template <class To, class From>
CUresult move(To&& to, From&& from, size_t bytes, CUstream stream, bool wait) {
    return entry([&] {
        Copy line;
        line.width = bytes;
        line.destination = to();
        line.source = from();
        return copy(line, *stream_of(stream), wait);
    });
}

CUresult copy_to_array(CUarray to, size_t offset, const Side& from, size_t bytes, CUstream stream,
                       bool wait) {
    return move([&] { return array(to, offset, bytes); }, [&] { return from; }, bytes, stream,
                wait);
}
CUresult copy_from_array(const Side& to, CUarray from, size_t offset, size_t bytes, CUstream stream,
                         bool wait) {
    return move([&] { return to; }, [&] { return array(from, offset, bytes); }, bytes, stream,
                wait);
}
CUresult copy_between_arrays(CUarray to, size_t to_offset, CUarray from, size_t from_offset,
                             size_t bytes, CUstream stream) {
    return move([&] { return array(to, to_offset, bytes); },
                [&] { return array(from, from_offset, bytes); }, bytes, stream, false);
}

}  // namespace

CUPOLA_API CUresult cuMemcpyDtoA_v2(CUarray to, size_t offset, CUdeviceptr from, size_t bytes) {
    return copy_to_array(to, offset, device(from), bytes, CU_STREAM_LEGACY, false);
}
CUPOLA_ALIAS(cuMemcpyDtoA, cuMemcpyDtoA_v2);
CUPOLA_API CUresult cuMemcpyDtoA_v2_ptds(CUarray to, size_t offset, CUdeviceptr from,
                                         size_t bytes) {
    return copy_to_array(to, offset, device(from), bytes, CU_STREAM_PER_THREAD, false);
}

CUPOLA_API CUresult cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, size_t offset, size_t bytes) {
    return copy_from_array(device(to), from, offset, bytes, CU_STREAM_LEGACY, false);
}
CUPOLA_ALIAS(cuMemcpyAtoD, cuMemcpyAtoD_v2);
CUPOLA_API CUresult cuMemcpyAtoD_v2_ptds(CUdeviceptr to, CUarray from, size_t offset,
                                         size_t bytes) {
    return copy_from_array(device(to), from, offset, bytes, CU_STREAM_PER_THREAD, false);
}

CUPOLA_API CUresult cuMemcpyHtoA_v2(CUarray to, size_t offset, const void* from, size_t bytes) {
    return copy_to_array(to, offset, host(from), bytes, CU_STREAM_LEGACY, true);
}
CUPOLA_ALIAS(cuMemcpyHtoA, cuMemcpyHtoA_v2);
CUPOLA_API CUresult cuMemcpyHtoA_v2_ptds(CUarray to, size_t offset, const void* from,
                                         size_t bytes) {
    return copy_to_array(to, offset, host(from), bytes, CU_STREAM_PER_THREAD, true);
}

CUPOLA_API CUresult cuMemcpyAtoH_v2(void* to, CUarray from, size_t offset, size_t bytes) {
    return copy_from_array(host(to), from, offset, bytes, CU_STREAM_LEGACY, true);
}
CUPOLA_ALIAS(cuMemcpyAtoH, cuMemcpyAtoH_v2);
CUPOLA_API CUresult cuMemcpyAtoH_v2_ptds(void* to, CUarray from, size_t offset, size_t bytes) {
    return copy_from_array(host(to), from, offset, bytes, CU_STREAM_PER_THREAD, true);
}

CUPOLA_API CUresult cuMemcpyAtoA_v2(CUarray to, size_t to_offset, CUarray from, size_t from_offset,
                                    size_t bytes) {
    return copy_between_arrays(to, to_offset, from, from_offset, bytes, CU_STREAM_LEGACY);
}
CUPOLA_ALIAS(cuMemcpyAtoA, cuMemcpyAtoA_v2);
CUPOLA_API CUresult cuMemcpyAtoA_v2_ptds(CUarray to, size_t to_offset, CUarray from,
                                         size_t from_offset, size_t bytes) {
    return copy_between_arrays(to, to_offset, from, from_offset, bytes, CU_STREAM_PER_THREAD);
}

CUPOLA_API CUresult cuMemcpyHtoAAsync_v2(CUarray to, size_t offset, const void* from, size_t bytes,
                                         CUstream stream) {
    return copy_to_array(to, offset, host(from), bytes, stream, false);
}
CUPOLA_ALIAS(cuMemcpyHtoAAsync, cuMemcpyHtoAAsync_v2);
CUPOLA_API CUresult cuMemcpyHtoAAsync_v2_ptsz(CUarray to, size_t offset, const void* from,
                                              size_t bytes, CUstream stream) {
    return copy_to_array(to, offset, host(from), bytes, Stream::per_thread(stream), false);
}

CUPOLA_API CUresult cuMemcpyAtoHAsync_v2(void* to, CUarray from, size_t offset, size_t bytes,
                                         CUstream stream) {
    return copy_from_array(host(to), from, offset, bytes, stream, false);
}
CUPOLA_ALIAS(cuMemcpyAtoHAsync, cuMemcpyAtoHAsync_v2);
CUPOLA_API CUresult cuMemcpyAtoHAsync_v2_ptsz(void* to, CUarray from, size_t offset, size_t bytes,
                                              CUstream stream) {
    return copy_from_array(host(to), from, offset, bytes, Stream::per_thread(stream), false);
}
