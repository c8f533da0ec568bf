// csrc/cpu/api/tensor_map.cpp - cu* entry points: descriptions of tensors, for copies of their
// tiles.
#include <cstring>

#include "cpu/driver.hpp"
#include "cpu/tensor_map.hpp"

using namespace cupola::cpu;

namespace {

unsigned element_bytes(CUtensorMapDataType type) {
    switch (type) {
        case CU_TENSOR_MAP_DATA_TYPE_UINT8:
            return 1;
        case CU_TENSOR_MAP_DATA_TYPE_UINT16:
        case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
        case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
            return 2;
        case CU_TENSOR_MAP_DATA_TYPE_UINT32:
        case CU_TENSOR_MAP_DATA_TYPE_INT32:
        case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
            return 4;
        case CU_TENSOR_MAP_DATA_TYPE_UINT64:
        case CU_TENSOR_MAP_DATA_TYPE_INT64:
        case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
            return 8;
        default:
            return 0;  // those that change what is copied, and those of newer devices
    }
}

bool is_real(CUtensorMapDataType type) {
    return type == CU_TENSOR_MAP_DATA_TYPE_FLOAT16 || type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 ||
           type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32 || type == CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
}

// Axes as the documentation bounds them.
bool describe(TensorMap& map, const cuuint64_t* sizes, const cuuint64_t* strides,
              const cuuint32_t* box, const cuuint32_t* steps) {
    for (unsigned n = 0; n < map.rank; ++n) {
        if (sizes[n] == 0 || sizes[n] > std::uint64_t{1} << 32 || box[n] == 0 || box[n] > 256 ||
            steps[n] == 0 || steps[n] > 8)
            return false;
        // A size of 2^32 is held as one less: no coordinate goes there.
        map.size[n] =
            static_cast<std::uint32_t>(sizes[n] == std::uint64_t{1} << 32 ? ~0u : sizes[n]);
        map.box[n] = box[n];
        map.step[n] = n == 0 ? std::uint8_t{1} : static_cast<std::uint8_t>(steps[n]);
        if (n == 0) continue;
        if (strides[n - 1] % 16 != 0 || strides[n - 1] >= std::uint64_t{1} << 40) return false;
        map.stride[n - 1] = strides[n - 1];
    }
    return std::uint64_t{box[0]} * map.element % 16 == 0;
}

}  // namespace

CUPOLA_API CUresult cuTensorMapEncodeTiled(CUtensorMap* out, CUtensorMapDataType type,
                                           cuuint32_t rank, void* address, const cuuint64_t* sizes,
                                           const cuuint64_t* strides, const cuuint32_t* box,
                                           const cuuint32_t* steps,
                                           CUtensorMapInterleave interleave,
                                           CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                                           CUtensorMapFloatOOBfill fill) {
    return entry([&] {
        if (!out || reinterpret_cast<std::uintptr_t>(out) % 64 != 0 || rank == 0 || rank > 5 ||
            !address || reinterpret_cast<std::uintptr_t>(address) % 16 != 0 || !sizes || !box ||
            !steps || (rank > 1 && !strides))
            return CUDA_ERROR_INVALID_VALUE;
        TensorMap map;
        map.known = TensorMap::mark;
        map.address = reinterpret_cast<std::uintptr_t>(address);
        map.rank = static_cast<std::uint8_t>(rank);
        map.element = static_cast<std::uint8_t>(element_bytes(type));
        if (map.element == 0 || interleave != CU_TENSOR_MAP_INTERLEAVE_NONE ||
            swizzle > CU_TENSOR_MAP_SWIZZLE_128B)
            return CUDA_ERROR_NOT_SUPPORTED;
        if (!describe(map, sizes, strides, box, steps)) return CUDA_ERROR_INVALID_VALUE;
        map.swizzle = static_cast<std::uint8_t>(swizzle);
        if (swizzle != CU_TENSOR_MAP_SWIZZLE_NONE && box[0] * map.element > 16u << swizzle)
            return CUDA_ERROR_INVALID_VALUE;
        if (fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) {
            if (!is_real(type)) return CUDA_ERROR_INVALID_VALUE;
            map.fill = map.element == 2   ? TensorMap::nan16
                       : map.element == 4 ? TensorMap::nan32
                                          : TensorMap::nan64;
        }
        std::memset(out, 0, sizeof *out);
        std::memcpy(out, &map, sizeof map);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuTensorMapReplaceAddress(CUtensorMap* out, void* address) {
    return entry([&] {
        TensorMap map;
        if (!out || !address || reinterpret_cast<std::uintptr_t>(address) % 16 != 0)
            return CUDA_ERROR_INVALID_VALUE;
        std::memcpy(static_cast<void*>(&map), out, sizeof map);
        if (map.known != TensorMap::mark) return CUDA_ERROR_INVALID_VALUE;
        map.address = reinterpret_cast<std::uintptr_t>(address);
        std::memcpy(out, &map, sizeof map);
        return CUDA_SUCCESS;
    });
}
