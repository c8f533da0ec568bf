// csrc/runtime/texture/tensor_map.cpp - checks and encodes a tensor map.
#include "runtime/texture/tensor_map.hpp"

#include <cstring>
#include <string>

#include "runtime/context/device.hpp"

namespace cupola {
namespace {

constexpr std::uint64_t alignment = 16;  // bytes, of addresses, strides and rows of a box

[[noreturn]] void refuse(const std::string& text) {
    fail(CUPOLA_ERROR_VALUE, "a tensor map: " + text);
}

unsigned element_bytes(int type) {
    switch (type) {
        case CUPOLA_TENSOR_MAP_UINT8:
            return 1;
        case CUPOLA_TENSOR_MAP_UINT16:
        case CUPOLA_TENSOR_MAP_FLOAT16:
        case CUPOLA_TENSOR_MAP_BFLOAT16:
            return 2;
        case CUPOLA_TENSOR_MAP_UINT32:
        case CUPOLA_TENSOR_MAP_INT32:
        case CUPOLA_TENSOR_MAP_FLOAT32:
        case CUPOLA_TENSOR_MAP_FLOAT32_FTZ:
        case CUPOLA_TENSOR_MAP_TFLOAT32:
        case CUPOLA_TENSOR_MAP_TFLOAT32_FTZ:
            return 4;
        case CUPOLA_TENSOR_MAP_UINT64:
        case CUPOLA_TENSOR_MAP_INT64:
        case CUPOLA_TENSOR_MAP_FLOAT64:
            return 8;
        default:
            refuse("unknown element type " + std::to_string(type));
    }
}

bool is_float(int type) {
    return type >= CUPOLA_TENSOR_MAP_FLOAT16 && type <= CUPOLA_TENSOR_MAP_TFLOAT32_FTZ;
}

CUtensorMapSwizzle swizzle_of(unsigned bytes) {
    switch (bytes) {
        case 0:
            return CU_TENSOR_MAP_SWIZZLE_NONE;
        case 32:
            return CU_TENSOR_MAP_SWIZZLE_32B;
        case 64:
            return CU_TENSOR_MAP_SWIZZLE_64B;
        case 128:
            return CU_TENSOR_MAP_SWIZZLE_128B;
        default:
            refuse("swizzle is 0, 32, 64 or 128 bytes, not " + std::to_string(bytes));
    }
}

CUtensorMapL2promotion promotion_of(unsigned bytes) {
    switch (bytes) {
        case 0:
            return CU_TENSOR_MAP_L2_PROMOTION_NONE;
        case 64:
            return CU_TENSOR_MAP_L2_PROMOTION_L2_64B;
        case 128:
            return CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
        case 256:
            return CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
        default:
            refuse("promotion is 0, 64, 128 or 256 bytes, not " + std::to_string(bytes));
    }
}

void check_axis(const cupola_tensor_map_request& request, unsigned axis) {
    // Users count axes from the outermost one, as NumPy does.
    const std::string name = "axis " + std::to_string(request.axes - 1 - axis);
    const std::uint64_t size = request.sizes[axis], stride = request.strides[axis];
    if (size == 0 || size > std::uint64_t{1} << 32)
        refuse(name + " has " + std::to_string(size) + " elements, it needs 1 to 2^32");
    if (request.box[axis] == 0 || request.box[axis] > 256)
        refuse("a box has 1 to 256 elements along each axis, not " +
               std::to_string(request.box[axis]) + " along " + name);
    if (request.steps[axis] == 0 || request.steps[axis] > 8)
        refuse("steps are 1 to 8, not " + std::to_string(request.steps[axis]) + " along " + name);
    if (axis != 0 && (stride == 0 || stride % alignment || stride >= std::uint64_t{1} << 40))
        refuse("neighbours along " + name + " are " + std::to_string(stride) +
               " bytes apart, they need a multiple of 16 below 2^40: pad the rows, or copy the "
               "array");
}

void check_request(const cupola_tensor_map_request& request) {
    if (request.axes == 0 || request.axes > CUPOLA_TENSOR_MAP_AXES)
        refuse("it has 1 to 5 axes, not " + std::to_string(request.axes));
    for (unsigned axis = 0; axis < request.axes; ++axis) check_axis(request, axis);
    if (request.address == 0 || request.address % alignment)
        refuse("the first element's address is no multiple of 16 bytes: copy the array");
    const std::uint64_t row = std::uint64_t{request.box[0]} * element_bytes(request.type);
    if (row % alignment)
        refuse("a box has rows of " + std::to_string(row) +
               " bytes, they need a multiple of 16 along the last axis");
    if (request.swizzle && row > request.swizzle)
        refuse("a box has rows of " + std::to_string(row) + " bytes, more than the swizzle's " +
               std::to_string(request.swizzle) + ": make the box narrower along the last axis");
    if (request.fill_nan && !is_float(request.type))
        refuse("only elements that are floats are filled with NaN");
}

}  // namespace

void encode_tensor_map(const Context& context, const cupola_tensor_map_request& request,
                       void* out) {
    const auto swizzle = swizzle_of(request.swizzle);
    const auto promotion = promotion_of(request.promotion);
    check_request(request);
    if (context.capability < 90)
        fail(CUPOLA_ERROR_VALUE,
             "a tensor map needs a device of compute capability 9.0 or newer, " +
                 device_text(context) + " has " + capability_text(context.capability));
    const auto encode = context.driver->cuTensorMapEncodeTiled;
    if (!encode) fail(CUPOLA_ERROR_VALUE, "a tensor map needs a driver of CUDA 12.0 or newer");
    ContextScope current(context);
    CUtensorMap map;  // aligned, as the driver requires; `out` need not be
    static_assert(sizeof map == CUPOLA_TENSOR_MAP_BYTES, "the size in the C ABI");
    const CUresult code =
        encode(&map, static_cast<CUtensorMapDataType>(request.type), request.axes,
               reinterpret_cast<void*>(static_cast<std::uintptr_t>(request.address)), request.sizes,
               request.strides + 1, request.box, request.steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
               swizzle, promotion,
               request.fill_nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
                                : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    check(context.driver, code, "cuTensorMapEncodeTiled");
    std::memcpy(out, &map, sizeof map);
}

}  // namespace cupola
