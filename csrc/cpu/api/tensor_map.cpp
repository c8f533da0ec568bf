// csrc/cpu/api/tensor_map.cpp - cu* entry points: tensor maps.
#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <optional>

#include "cpu/base/tensor_box.hpp"
#include "cpu/device/driver/driver.hpp"

using namespace cupola::cpu;

namespace {

// Whether the device has the maps of compute capability 10.0.
bool has_wide_maps() { return Driver::get().settings.capability >= 100; }

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
        case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B:
            return TensorMap::Element::b4x16;
        case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B:
            return TensorMap::Element::b4x16_p64;
        case CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B:
            return TensorMap::Element::b6x16_p32;
        // The values up to this one are equal in both enumerations.
        default:
            if (type < CU_TENSOR_MAP_DATA_TYPE_UINT8 || type > CU_TENSOR_MAP_DATA_TYPE_FLOAT32)
                return std::nullopt;
            return static_cast<TensorMap::Element>(type);
    }
}

// Swizzling by pieces of more than 16 bytes is in 128 bytes.
void describe_swizzle(TensorMap& map, CUtensorMapSwizzle swizzle) {
    using Atom = TensorMap::Atom;
    map.swizzle = static_cast<std::uint8_t>(std::min(swizzle, CU_TENSOR_MAP_SWIZZLE_128B));
    if (swizzle == CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B) map.atom = Atom::b32;
    if (swizzle == CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B) map.atom = Atom::flipped;
    if (swizzle == CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B) map.atom = Atom::b64;
    require(map.swizzle == 0 || map.row_bytes() <= 16u << map.swizzle);
}

// The rules of the packed types, which the driver's manual lists.
void require_packing(const TensorMap& map) {
    if (map.type == TensorMap::Element::b4x16) return require(map.size[0] % 2 == 0);
    if (!map.is_padded()) return;
    require(map.address % 32 == 0 && map.size[0] % 128 == 0 && map.box[0] == 128);
    for (unsigned n = 1; n < map.rank; ++n) require(map.stride[n - 1] % 32 == 0);
    const bool six = map.type == TensorMap::Element::b6x16_p32;
    require((map.swizzle == 0 || map.swizzle == 3) && map.atom != TensorMap::Atom::flipped &&
            (six || map.atom != TensorMap::Atom::b64));
}

// Shared by all maps.
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
    require(asked.out && reinterpret_cast<std::uintptr_t>(asked.out) % 64 == 0 &&
            reinterpret_cast<std::uintptr_t>(asked.address) % 16 == 0 && asked.sizes &&
            asked.steps && (asked.rank == 1 || asked.strides));
    map.known = TensorMap::mark;
    map.address = reinterpret_cast<std::uintptr_t>(asked.address);
    map.rank = static_cast<std::uint8_t>(asked.rank);
    const auto element = element_of(asked.type);
    require(element && asked.interleave == CU_TENSOR_MAP_INTERLEAVE_NONE &&
                asked.swizzle <= CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B,
            CUDA_ERROR_NOT_SUPPORTED);
    map.type = *element;
    const bool newer = map.is_packed() || asked.swizzle > CU_TENSOR_MAP_SWIZZLE_128B;
    require(!newer || has_wide_maps(), CUDA_ERROR_NOT_SUPPORTED);
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
    require(std::uint64_t{map.box[0]} * map.shared_bits() % 128 == 0);
    describe_swizzle(map, asked.swizzle);
    require_packing(map);
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
        map.access = TensorMap::Access::columns;
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

CUPOLA_API CUresult cuTensorMapEncodeIm2colWide(
    CUtensorMap* out, CUtensorMapDataType type, cuuint32_t rank, void* address,
    const cuuint64_t* sizes, const cuuint64_t* strides, int lower, int upper, cuuint32_t channels,
    cuuint32_t pixels, const cuuint32_t* steps, CUtensorMapInterleave interleave,
    CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
    CUtensorMapFloatOOBfill fill) {
    return entry([&] {
        require(has_wide_maps(), CUDA_ERROR_NOT_SUPPORTED);
        const bool wide_128 = mode == CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128;
        require(rank >= 3 && rank <= 5 && sizes && channels != 0 && channels <= 256 &&
                (wide_128 || mode == CU_TENSOR_MAP_IM2COL_WIDE_MODE_W) &&
                (wide_128 || (pixels != 0 && pixels <= 1024)));
        require(swizzle == CU_TENSOR_MAP_SWIZZLE_64B || swizzle == CU_TENSOR_MAP_SWIZZLE_128B ||
                swizzle == CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B);
        TensorMap map;
        map.access = wide_128 ? TensorMap::Access::wide_128 : TensorMap::Access::wide;
        map.box[0] = channels;
        map.box[1] = wide_128 ? 0 : pixels;
        for (const int corner : {lower, upper}) require(corner >= -32768 && corner <= 32767);
        require(sizes[1] <= std::uint64_t{1} << 32);
        require(lower < static_cast<std::int64_t>(sizes[1]) + upper);
        map.lower[0] = static_cast<std::int16_t>(lower);
        map.upper[0] = static_cast<std::int16_t>(upper);
        describe(map, {out, type, rank, address, sizes, strides, steps, interleave, swizzle, fill});
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuTensorMapReplaceAddress(CUtensorMap* out, void* address) {
    return entry([&] {
        if (!out || !address || reinterpret_cast<std::uintptr_t>(address) % 16 != 0)
            return CUDA_ERROR_INVALID_VALUE;
        TensorMap map = read_tensor_map(reinterpret_cast<const std::byte*>(out));
        if (map.known != TensorMap::mark) return CUDA_ERROR_INVALID_VALUE;
        map.address = reinterpret_cast<std::uintptr_t>(address);
        std::memcpy(out, &map, sizeof map);
        return CUDA_SUCCESS;
    });
}
