// csrc/cpu/api/tensor_map.cpp - cu* entry points: descriptions of tensors, for copies of their
// tiles.
#include <cstring>
#include <optional>

#include "cpu/driver.hpp"
#include "cpu/tensor_map.hpp"

using namespace cupola::cpu;

namespace {

// The driver and PTX number types differently.
std::optional<TensorMap::Element> element_of(CUtensorMapDataType type) {
    switch (type) {
        case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
            return TensorMap::Element::f64;
        case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
            return TensorMap::Element::bf16;
        default:  // up to there they agree; the rest changes what is copied, or is of newer devices
            if (type < CU_TENSOR_MAP_DATA_TYPE_UINT8 || type > CU_TENSOR_MAP_DATA_TYPE_FLOAT32)
                return std::nullopt;
            return static_cast<TensorMap::Element>(type);
    }
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
    return std::uint64_t{box[0]} * map.element() % 16 == 0;
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
        const auto element = element_of(type);
        if (!element || interleave != CU_TENSOR_MAP_INTERLEAVE_NONE ||
            swizzle > CU_TENSOR_MAP_SWIZZLE_128B)
            return CUDA_ERROR_NOT_SUPPORTED;
        map.type = *element;
        if (!describe(map, sizes, strides, box, steps)) return CUDA_ERROR_INVALID_VALUE;
        map.swizzle = static_cast<std::uint8_t>(swizzle);
        if (swizzle != CU_TENSOR_MAP_SWIZZLE_NONE && box[0] * map.element() > 16u << swizzle)
            return CUDA_ERROR_INVALID_VALUE;
        map.fill_nan = fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
        if (map.fill_nan && !map.real()) return CUDA_ERROR_INVALID_VALUE;
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
