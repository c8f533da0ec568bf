// csrc/cpu/api/copy_shapes.cpp - cu* entry points: 2-D and 3-D copies.
#include "cpu/api/copy.hpp"
#include "cpu/api/handle.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/launch/capture.hpp"
#include "cpu/device/stream/stream.hpp"
#include "cpu/device/texture/array.hpp"

#undef cuMemcpy3DBatchAsync

using namespace cupola::cpu;

namespace {

// The position of a 2-D or 3-D region in the memory of one side.
struct Place {
    CUmemorytype type;
    const void* host;
    CUdeviceptr device;
    std::size_t x, y, z, pitch, height;
    CUarray array;
};

// A region of an array, which has its own pitch.
Side array_side(const Place& place, const Copy& extent) {
    const auto array = array_of(place.array);
    const Texels& texels = array->texels();
    require(place.x <= texels.row && extent.width <= texels.row - place.x);
    require(place.y <= texels.height && extent.height <= texels.height - place.y);
    require(place.z <= texels.depth && extent.depth <= texels.depth - place.z);
    return {Side::Space::array,
            texels.begin + place.z * texels.slice + place.y * texels.row + place.x, texels.row,
            texels.slice, array};
}

Side side(const Place& place, const Copy& extent) {
    Side side;
    switch (static_cast<int>(place.type)) {
        case CU_MEMORYTYPE_HOST:
            side.space = Side::Space::host;
            side.address = reinterpret_cast<std::uintptr_t>(place.host);
            break;
        case CU_MEMORYTYPE_DEVICE:
            side.space = Side::Space::device;
            side.address = place.device;
            break;
        case CU_MEMORYTYPE_UNIFIED:
            side.address = place.device;
            break;
        case CU_MEMORYTYPE_ARRAY:
            return array_side(place, extent);
        default:
            fail(CUDA_ERROR_INVALID_VALUE);
    }
    // A pitch or height of 0 is valid for one row or one slice.
    side.pitch = place.pitch ? place.pitch : place.x + extent.width;
    const std::size_t height = place.height ? place.height : place.y + extent.height;
    require(place.pitch >= place.x + extent.width || (!place.pitch && extent.height == 1));
    require(height >= place.y + extent.height);
    require(!__builtin_mul_overflow(side.pitch, height, &side.slice));
    std::size_t offset = 0, more = 0;
    require(!__builtin_mul_overflow(side.slice, place.z, &offset));
    require(!__builtin_mul_overflow(side.pitch, place.y, &more));
    require(!__builtin_add_overflow(offset, more, &offset));
    require(!__builtin_add_overflow(offset, place.x, &offset));
    require(!__builtin_add_overflow(side.address, offset, &side.address));
    return side;
}

// CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER have the same names for these fields.
template <class Box>
Place destination(const Box& it) {
    return {it.dstMemoryType, it.dstHost,  it.dstDevice, it.dstXInBytes, it.dstY,
            it.dstZ,          it.dstPitch, it.dstHeight, it.dstArray};
}
template <class Box>
Place source(const Box& it) {
    return {it.srcMemoryType, it.srcHost,  it.srcDevice, it.srcXInBytes, it.srcY,
            it.srcZ,          it.srcPitch, it.srcHeight, it.srcArray};
}

CUresult queue_copy(Copy copy, const Place& to, const Place& from, CUstream stream, bool wait) {
    if (copy.width == 0 || copy.height == 0 || copy.depth == 0) {
        stream_of(stream);
        return CUDA_SUCCESS;
    }
    const auto on = stream_of(stream);
    copy.destination = side(to, copy);
    copy.source = side(from, copy);
    return cupola::cpu::copy(copy, *on, wait);
}

// The size of an array's texel; nothing for linear memory.
std::size_t element_of(const CUmemcpy3DOperand& it) {
    return it.type == CU_MEMCPY_OPERAND_TYPE_ARRAY ? array_of(it.op.array.array)->format().size()
                                                   : 0;
}

// Lengths are in elements. For linear memory, 0 means that rows or slices are contiguous.
Place operand_place(const CUmemcpy3DOperand& it, std::size_t element, const CUextent3D& extent) {
    const auto bytes = [&](std::size_t elements) {
        std::size_t product = 0;
        require(!__builtin_mul_overflow(elements, element, &product));
        return product;
    };
    if (it.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
        const CUoffset3D& from = it.op.array.offset;
        return {CU_MEMORYTYPE_ARRAY, nullptr, 0, bytes(from.x), from.y, from.z, 0, 0,
                it.op.array.array};
    }
    require(it.type == CU_MEMCPY_OPERAND_TYPE_POINTER && it.op.ptr.ptr);
    const std::size_t row = it.op.ptr.rowLength ? it.op.ptr.rowLength : extent.width;
    const std::size_t rows = it.op.ptr.layerHeight ? it.op.ptr.layerHeight : extent.height;
    require(row >= extent.width && rows >= extent.height);
    return {CU_MEMORYTYPE_UNIFIED, nullptr, it.op.ptr.ptr, 0, 0, 0, bytes(row), rows, nullptr};
}

CUresult batch(size_t count, const CUDA_MEMCPY3D_BATCH_OP* list, size_t* failed,
               unsigned long long flags, CUstream handle) {
    return entry([&] {
        if (failed) *failed = SIZE_MAX;
        // As cuda.h documents, the default streams are not allowed.
        require(handle && handle != CU_STREAM_LEGACY);
        require(count > 0 && list && flags == 0);
        for (size_t n = 0; n < count; ++n) {
            const CUDA_MEMCPY3D_BATCH_OP& it = list[n];
            if (failed) *failed = n;
            require(it.extent.width && it.extent.height && it.extent.depth);
            require(it.srcAccessOrder >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM &&
                    it.srcAccessOrder <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY);
            const std::size_t to = element_of(it.dst), from = element_of(it.src);
            require(!to || !from || to == from);
            const std::size_t element = to ? to : from ? from : 1;
            Copy copy;
            require(!__builtin_mul_overflow(it.extent.width, element, &copy.width));
            copy.height = it.extent.height;
            copy.depth = it.extent.depth;
            const CUresult code =
                queue_copy(copy, operand_place(it.dst, element, it.extent),
                           operand_place(it.src, element, it.extent), handle, false);
            if (code != CUDA_SUCCESS) return code;
        }
        if (failed) *failed = SIZE_MAX;
        return CUDA_SUCCESS;
    });
}

CUresult rectangle(const CUDA_MEMCPY2D* it, CUstream stream, bool wait) {
    return entry([&] {
        require(it);
        Copy copy;
        copy.width = it->WidthInBytes;
        copy.height = it->Height;
        const Place to{it->dstMemoryType, it->dstHost, it->dstDevice, it->dstXInBytes, it->dstY, 0,
                       it->dstPitch,      0,           it->dstArray};
        const Place from{it->srcMemoryType, it->srcHost, it->srcDevice,
                         it->srcXInBytes,   it->srcY,    0,
                         it->srcPitch,      0,           it->srcArray};
        return queue_copy(copy, to, from, stream, wait);
    });
}

template <class Box>
CUresult box(const Box* it, CUstream stream, bool wait) {
    Copy copy;
    copy.width = it->WidthInBytes;
    copy.height = it->Height;
    copy.depth = it->Depth;
    require(it->srcLOD == 0 && it->dstLOD == 0);
    return queue_copy(copy, destination(*it), source(*it), stream, wait);
}

CUresult plain_box(const CUDA_MEMCPY3D* it, CUstream stream, bool wait) {
    return entry([&] {
        require(it);
        return box(it, stream, wait);
    });
}

CUresult peer_box(const CUDA_MEMCPY3D_PEER* it, CUstream stream, bool wait) {
    return entry([&] {
        require(it);
        context_of(it->dstContext);
        context_of(it->srcContext);
        Capture::forbid(*stream_of(stream));  // as in NVIDIA's driver
        return box(it, stream, wait);
    });
}

}  // namespace

Copy cupola::cpu::box_copy(const CUDA_MEMCPY3D& it) {
    require(it.srcLOD == 0 && it.dstLOD == 0);
    Copy copy;
    copy.width = it.WidthInBytes;
    copy.height = it.Height;
    copy.depth = it.Depth;
    require(copy.width && copy.height && copy.depth);
    copy.destination = side(destination(it), copy);
    copy.source = side(source(it), copy);
    return copy;
}

CUPOLA_API CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* it) {
    return rectangle(it, CU_STREAM_LEGACY, true);
}
CUPOLA_ALIAS(cuMemcpy2D, cuMemcpy2D_v2);
CUPOLA_API CUresult cuMemcpy2D_v2_ptds(const CUDA_MEMCPY2D* it) {
    return rectangle(it, CU_STREAM_PER_THREAD, true);
}

CUPOLA_API CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* it) {
    return rectangle(it, CU_STREAM_LEGACY, true);
}
CUPOLA_ALIAS(cuMemcpy2DUnaligned, cuMemcpy2DUnaligned_v2);
CUPOLA_API CUresult cuMemcpy2DUnaligned_v2_ptds(const CUDA_MEMCPY2D* it) {
    return rectangle(it, CU_STREAM_PER_THREAD, true);
}

CUPOLA_API CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* it, CUstream stream) {
    return rectangle(it, stream, false);
}
CUPOLA_ALIAS(cuMemcpy2DAsync, cuMemcpy2DAsync_v2);
CUPOLA_API CUresult cuMemcpy2DAsync_v2_ptsz(const CUDA_MEMCPY2D* it, CUstream stream) {
    return rectangle(it, Stream::per_thread(stream), false);
}

CUPOLA_API CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* it) {
    return plain_box(it, CU_STREAM_LEGACY, true);
}
CUPOLA_ALIAS(cuMemcpy3D, cuMemcpy3D_v2);
CUPOLA_API CUresult cuMemcpy3D_v2_ptds(const CUDA_MEMCPY3D* it) {
    return plain_box(it, CU_STREAM_PER_THREAD, true);
}

CUPOLA_API CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* it, CUstream stream) {
    return plain_box(it, stream, false);
}
CUPOLA_ALIAS(cuMemcpy3DAsync, cuMemcpy3DAsync_v2);
CUPOLA_API CUresult cuMemcpy3DAsync_v2_ptsz(const CUDA_MEMCPY3D* it, CUstream stream) {
    return plain_box(it, Stream::per_thread(stream), false);
}

CUPOLA_API CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* it) {
    return peer_box(it, CU_STREAM_LEGACY, true);
}
CUPOLA_API CUresult cuMemcpy3DPeer_ptds(const CUDA_MEMCPY3D_PEER* it) {
    return peer_box(it, CU_STREAM_PER_THREAD, true);
}

CUPOLA_API CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* it, CUstream stream) {
    return peer_box(it, stream, false);
}
CUPOLA_API CUresult cuMemcpy3DPeerAsync_ptsz(const CUDA_MEMCPY3D_PEER* it, CUstream stream) {
    return peer_box(it, Stream::per_thread(stream), false);
}

CUPOLA_API CUresult cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP* list, size_t* failed,
                                         unsigned long long flags, CUstream stream) {
    return batch(count, list, failed, flags, stream);
}
CUPOLA_API CUresult cuMemcpy3DBatchAsync_ptsz(size_t count, CUDA_MEMCPY3D_BATCH_OP* list,
                                              size_t* failed, unsigned long long flags,
                                              CUstream stream) {
    return batch(count, list, failed, flags, Stream::per_thread(stream));
}
CUPOLA_API CUresult cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP* list,
                                            unsigned long long flags, CUstream stream) {
    return batch(count, list, nullptr, flags, stream);
}
CUPOLA_API CUresult cuMemcpy3DBatchAsync_v2_ptsz(size_t count, CUDA_MEMCPY3D_BATCH_OP* list,
                                                 unsigned long long flags, CUstream stream) {
    return batch(count, list, nullptr, flags, Stream::per_thread(stream));
}
