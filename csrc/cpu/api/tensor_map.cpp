// csrc/cpu/api/tensor_map.cpp - cu* entry points: tensor maps.
#include <cstring>
#include <initializer_list>
#include <optional>

#include "cpu/base/tensor_box.hpp"
#include "cpu/device/driver/driver.hpp"

using namespace cupola::cpu;

namespace {

// The driver and PTX use different numbers for types.
std::optional<TensorMap::Element> element_of(CUtensorMapDataType type) {
    switch (type) {
        case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
            return TensorMap::Element::f64;
        case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
            return TensorMap::Element::bf16;
        case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ:
            return TensorMap::Element::f32_ftz;
        case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
            return TensorMap::Element::tf32;
        case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ:
            return TensorMap::Element::tf32_ftz;
        // The values up to this one are equal in both enumerations; later values need newer
        // devices.
        default:
            if (type < CU_TENSOR_MAP_DATA_TYPE_UINT8 || type > CU_TENSOR_MAP_DATA_TYPE_FLOAT32)
                return std::nullopt;
            return static_cast<TensorMap::Element>(type);
    }
}

// Shared by tiled and im2col maps.
struct Request {
    CUtensorMap* out;
    CUtensorMapDataType type;
    cuuint32_t rank;
    void* address;
    const cuuint64_t *sizes, *strides;
    const cuuint32_t* steps;
    CUtensorMapInterleave interleave;
    CUtensorMapSwizzle swizzle;
    CUtensorMapFloatOOBfill fill;
};

// Checks the tensor against the documented limits. The map already has the box.
void describe(TensorMap& map, const Request& asked) {
    require(asked.out && reinterpret_cast<std::uintptr_t>(asked.out) % 64 == 0 && asked.address &&
            reinterpret_cast<std::uintptr_t>(asked.address) % 16 == 0 && asked.sizes &&
            asked.steps && (asked.rank == 1 || asked.strides));
    map.known = TensorMap::mark;
    map.address = reinterpret_cast<std::uintptr_t>(asked.address);
    map.rank = static_cast<std::uint8_t>(asked.rank);
    const auto element = element_of(asked.type);
    require(element && asked.interleave == CU_TENSOR_MAP_INTERLEAVE_NONE &&
                asked.swizzle <= CU_TENSOR_MAP_SWIZZLE_128B,
            CUDA_ERROR_NOT_SUPPORTED);
    map.type = *element;
    constexpr auto most = std::uint64_t{1} << 32;
    for (unsigned n = 0; n < map.rank; ++n) {
        require(asked.sizes[n] != 0 && asked.sizes[n] <= most && asked.steps[n] != 0 &&
                asked.steps[n] <= 8);
        // A size of 2^32 is stored as 2^32 - 1; signed coordinates cannot reach it.
        map.size[n] = static_cast<std::uint32_t>(asked.sizes[n] == most ? ~0u : asked.sizes[n]);
        map.step[n] = n == 0 ? std::uint8_t{1} : static_cast<std::uint8_t>(asked.steps[n]);
        if (n == 0) continue;
        require(asked.strides[n - 1] % 16 == 0 && asked.strides[n - 1] < std::uint64_t{1} << 40);
        map.stride[n - 1] = asked.strides[n - 1];
    }
    require(std::uint64_t{map.box[0]} * map.element() % 16 == 0);
    map.swizzle = static_cast<std::uint8_t>(asked.swizzle);
    require(map.swizzle == 0 || map.box[0] * map.element() <= 16u << map.swizzle);
    require(box_bytes(map) <= largest_box);
    map.fill_nan = asked.fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
    require(!map.fill_nan || map.real());
    std::memset(asked.out, 0, sizeof *asked.out);
    std::memcpy(asked.out, &map, sizeof map);
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
        require(rank != 0 && rank <= 5 && box);
        TensorMap map;
        for (unsigned n = 0; n < rank; ++n) {
            require(box[n] != 0 && box[n] <= 256);
            map.box[n] = box[n];
        }
        describe(map, {out, type, rank, address, sizes, strides, steps, interleave, swizzle, fill});
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuTensorMapEncodeIm2col(CUtensorMap* out, CUtensorMapDataType type,
                                            cuuint32_t rank, void* address, const cuuint64_t* sizes,
                                            const cuuint64_t* strides, const int* lower,
                                            const int* upper, cuuint32_t channels,
                                            cuuint32_t pixels, const cuuint32_t* steps,
                                            CUtensorMapInterleave interleave,
                                            CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                                            CUtensorMapFloatOOBfill fill) {
    return entry([&] {
        require(rank >= 3 && rank <= 5 && lower && upper && sizes && channels != 0 &&
                channels <= 256 && pixels != 0 && pixels <= 1024);
        TensorMap map;
        map.columns = 1;
        map.box[0] = channels;
        map.box[1] = pixels;
        const int most = rank == 3 ? 1 << 15 : rank == 4 ? 1 << 7 : 1 << 4;
        for (unsigned n = 0; n < rank - 2; ++n) {
            for (const int corner : {lower[n], upper[n]}) require(corner >= -most && corner < most);
            // The corners must enclose at least one pixel.
            require(sizes[n + 1] <= std::uint64_t{1} << 32);
            require(lower[n] < static_cast<std::int64_t>(sizes[n + 1]) + upper[n]);
            map.lower[n] = static_cast<std::int16_t>(lower[n]);
            map.upper[n] = static_cast<std::int16_t>(upper[n]);
        }
        describe(map, {out, type, rank, address, sizes, strides, steps, interleave, swizzle, fill});
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
