// csrc/cpu/tensor_map.hpp - what a tensor map of the CPU device holds: cuTensorMapEncodeTiled and
// cuTensorMapEncodeIm2col write it, kernels read it from wherever a program has put its 128 bytes.
#pragma once

#include <cstdint>

namespace cupola::cpu {

// What stands in place of halves that are outside of a tensor, if NaNs are asked for.
inline constexpr std::uint16_t outside = 0x7ff7;

struct TensorMap {
    static constexpr std::uint64_t mark = 0x70616d726f736e74;
    // As tensormap.replace numbers them; what comes after bf16 changes what is copied, and is not
    // supported.
    enum class Element : std::uint8_t { u8, u16, u32, s32, u64, s64, f16, f32, f32_ftz, f64, bf16 };

    std::uint64_t known = 0;  // mark, or it is none
    std::uint64_t address = 0;
    std::uint64_t stride[4] = {};             // bytes, of all axes but the first
    std::uint32_t size[5] = {}, box[5] = {};  // of columns: channels, pixels
    // Of columns: where pixels begin and end, beyond the tensor's first and last, on all axes but
    // those of channels and of images.
    std::int16_t lower[3] = {}, upper[3] = {};
    std::uint8_t step[5] = {};
    std::uint8_t rank = 0;
    Element type = Element::u8;
    std::uint8_t swizzle = 0;     // bits of an address that are changed, above the lowest four
    std::uint8_t interleave = 0;  // none but 0 is supported
    std::uint8_t fill_nan = 0;    // what is outside of a tensor of reals: NaNs, or else zeros
    std::uint8_t columns = 0;     // what is copied at once: a column of pixels, or else a tile

    bool real() const {
        return type == Element::f16 || type == Element::f32 || type == Element::f64 ||
               type == Element::bf16;
    }
    unsigned element() const {  // bytes; 0 where the type is not supported
        static constexpr std::uint8_t bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 0, 8, 2};
        const auto n = static_cast<unsigned>(type);
        return n < sizeof bytes ? bytes[n] : 0;
    }
};
static_assert(sizeof(TensorMap) <= 128);

}  // namespace cupola::cpu
