// csrc/cpu/base/tensor_map.hpp - the content of a tensor map of the CPU device.
// cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col write its 128 bytes, and kernels read them
// from any memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cupola::cpu {

// The NaN that replaces halves outside of a tensor, if the map fills with NaNs.
inline constexpr std::uint16_t outside = 0x7ff7;

struct TensorMap {
    static constexpr std::uint64_t mark = 0x70616d726f536e74;
    // Numbers of tensormap.replace. Types with ftz flush denormals, and tf32 rounds, in loads
    // alone.
    enum class Element : std::uint8_t {
        u8,
        u16,
        u32,
        s32,
        u64,
        s64,
        f16,
        f32,
        f32_ftz,
        f64,
        bf16,
        tf32,
        tf32_ftz,
    };

    std::uint64_t address = 0;
    // `mark` if the map is valid. CUTLASS clears bit 21 of this word in maps of small tensors, as a
    // remedy for drivers up to CUDA 13.1. So the mark does not have that bit.
    std::uint64_t known = 0;
    std::uint64_t stride[4] = {};  // bytes, for all axes except the first
    // For im2col, `box` has the numbers of channels and of pixels.
    std::uint32_t size[5] = {}, box[5] = {};
    // For im2col: the offsets of the bounding box's corners from the tensor's first and last pixel,
    // on all axes except channels and images.
    std::int16_t lower[3] = {}, upper[3] = {};
    std::uint8_t step[5] = {};
    std::uint8_t rank = 0;
    Element type = Element::u8;
    std::uint8_t swizzle = 0;     // number of swizzled address bits above the lowest four
    std::uint8_t interleave = 0;  // only 0 is supported
    std::uint8_t fill_nan = 0;    // fills outside of a tensor of reals with NaNs, otherwise zeros
    std::uint8_t columns = 0;     // im2col, otherwise tiled

    bool real() const { return type >= Element::f16 && type <= Element::tf32_ftz; }
    unsigned element() const {  // bytes; 0 if the type is not supported
        static constexpr std::uint8_t bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2, 4, 4};
        const auto n = static_cast<unsigned>(type);
        return n < sizeof bytes ? bytes[n] : 0;
    }
};
static_assert(sizeof(TensorMap) <= 128);
static_assert(offsetof(TensorMap, known) == 8 && (TensorMap::mark >> 21 & 1) == 0);

}  // namespace cupola::cpu
