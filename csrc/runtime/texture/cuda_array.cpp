// csrc/runtime/texture/cuda_array.cpp - creates and destroys CUDA arrays, and copies boxes.
#include "runtime/texture/cuda_array.hpp"

#include "runtime/context/capture.hpp"
#include "runtime/lifetime/capture_scope.hpp"

namespace cupola {
namespace {

CUmemorytype kind_of(int kind) {
    switch (kind) {
        case CUPOLA_BOX_HOST:
            return CU_MEMORYTYPE_HOST;
        case CUPOLA_BOX_DEVICE:
            return CU_MEMORYTYPE_DEVICE;
        case CUPOLA_BOX_ARRAY:
            return CU_MEMORYTYPE_ARRAY;
        case CUPOLA_BOX_UNIFIED:
            return CU_MEMORYTYPE_UNIFIED;
        default:
            fail(CUPOLA_ERROR_VALUE, "unknown kind of box " + std::to_string(kind));
    }
}

CUarray array_of(const cupola_box& box, const Context& context, const char* side) {
    if (box.kind != CUPOLA_BOX_ARRAY) return nullptr;
    const CudaArray& array = *unwrap(check_not_null(box.array, side));
    require_same_driver(array.context, "the array", context, "the stream");
    return array.handle;
}

std::uint64_t number_of(CUarray handle) { return reinterpret_cast<std::uintptr_t>(handle); }

}  // namespace

unsigned channel_bytes(int format) {
    switch (format) {
        case CUPOLA_TEXEL_UINT8:
        case CUPOLA_TEXEL_INT8:
            return 1;
        case CUPOLA_TEXEL_UINT16:
        case CUPOLA_TEXEL_INT16:
        case CUPOLA_TEXEL_FLOAT16:
            return 2;
        case CUPOLA_TEXEL_UINT32:
        case CUPOLA_TEXEL_INT32:
        case CUPOLA_TEXEL_FLOAT32:
            return 4;
        default:
            fail(CUPOLA_ERROR_VALUE, "unknown format of texels " + std::to_string(format));
    }
}

void check_channels(unsigned channels) {
    if (channels != 1 && channels != 2 && channels != 4)
        fail(CUPOLA_ERROR_VALUE, "texels have 1, 2 or 4 channels, not " + std::to_string(channels));
}

bool wait_before_destroying(const Context& context) noexcept {
    const Driver* d = context.driver.alive();
    return d && d->cuCtxSynchronize() != CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CudaArray::CudaArray(Context& context, const cupola_cuda_array_shape& shape)
    : context(context), shape(shape) {
    channel_bytes(shape.format);
    check_channels(shape.channels);
    if (shape.flags & ~unsigned(CUPOLA_ARRAY_LAYERED | CUPOLA_ARRAY_SURFACE))
        fail(CUPOLA_ERROR_VALUE, "unknown flags of a CUDA array " + std::to_string(shape.flags));
    ContextScope current(context);
    const RelaxedCapture relaxed(context.driver);
    CUDA_ARRAY3D_DESCRIPTOR given{};
    given.Width = shape.width;
    given.Height = shape.height;
    given.Depth = shape.depth;
    given.Format = static_cast<CUarray_format>(shape.format);
    given.NumChannels = shape.channels;
    given.Flags = (shape.flags & CUPOLA_ARRAY_LAYERED ? CUDA_ARRAY3D_LAYERED : 0) |
                  (shape.flags & CUPOLA_ARRAY_SURFACE ? CUDA_ARRAY3D_SURFACE_LDST : 0);
    const CUresult code = context.driver->cuArray3DCreate(&handle, &given);
    if (code != CUDA_SUCCESS)
        fail_driver(context.driver, code, "cuArray3DCreate",
                    "requested " + std::to_string(shape.width) + " x " +
                        std::to_string(shape.height) + " x " + std::to_string(shape.depth) +
                        " texels of " + std::to_string(shape.channels) + " channels");
    register_range(number_of(handle), 1);
    Capture::note_allocation(current_stream(context), number_of(handle), 1);
}

CudaArray::~CudaArray() {
    const Driver* d = context.driver.alive();
    if (!d || !handle) return;
    try {
        ContextScope current(context);
        const RelaxedCapture relaxed(context.driver, RelaxedCapture::any_library);
        if (wait_before_destroying(context)) d->cuArrayDestroy(handle);
    } catch (const Error&) {  // the context is lost, with the array
    }
}

void copy_box(const cupola_box& to, const cupola_box& from, std::size_t width, std::size_t rows,
              std::size_t depth, Stream& stream) {
    const Context& context = stream.context;
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = kind_of(from.kind);
    copy.srcArray = array_of(from, context, "from.array");
    copy.srcHost = reinterpret_cast<const void*>(from.address);
    copy.srcDevice = from.address;
    copy.srcXInBytes = from.x;
    copy.srcY = from.y;
    copy.srcZ = from.z;
    copy.srcPitch = from.pitch;
    copy.srcHeight = from.height;
    copy.dstMemoryType = kind_of(to.kind);
    copy.dstArray = array_of(to, context, "to.array");
    copy.dstHost = reinterpret_cast<void*>(to.address);
    copy.dstDevice = to.address;
    copy.dstXInBytes = to.x;
    copy.dstY = to.y;
    copy.dstZ = to.z;
    copy.dstPitch = to.pitch;
    copy.dstHeight = to.height;
    copy.WidthInBytes = width;
    copy.Height = rows;
    copy.Depth = depth;
    if (!width || !rows || !depth) return;
    Capture::require_contents(stream, {copy.srcDevice, copy.dstDevice, number_of(copy.srcArray),
                                       number_of(copy.dstArray)});
    ContextScope current(context);
    CUPOLA_CALL(context.driver, cuMemcpy3DAsync, &copy, stream.handle);
}

}  // namespace cupola
