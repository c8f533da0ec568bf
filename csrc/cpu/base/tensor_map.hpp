// csrc/cpu/base/tensor_map.hpp - the content of a tensor map of the CPU device, and of a GPU.
// cuTensorMapEncodeTiled, -Im2col and -Im2colWide write its 128 bytes, and kernels read them from
// any memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cupola::cpu {

// The NaN that replaces halves outside of a tensor, if the map fills with NaNs.
inline constexpr std::uint16_t outside = 0x7ff7;

struct TensorMap {
    static constexpr std::uint64_t mark = 0x70616d726f536e74;
    // Numbers of tensormap.replace. Types with ftz flush denormals, and tf32 rounds, in loads
    // alone. The last three are packed in global memory: sixteen elements of 4 or 6 bits.
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
        b4x16,
        b4x16_p64,  // in shared memory: 8 bytes, and 8 bytes of padding
        b6x16_p32,  // in shared memory: 12 bytes, and 4 of padding; stores read a byte an element
    };
    enum class Access : std::uint8_t { tiles, columns, wide, wide_128 };
    // The pieces that swizzling in 128 bytes keeps together. `flipped`: 32 bytes, and odd rows swap
    // the halves of each 16 bytes.
    enum class Atom : std::uint8_t { b16, b32, flipped, b64 };
    static constexpr std::uint8_t in_96_bytes = 4;  // a swizzle mode of tensormap.replace

    std::uint64_t address = 0;
    // `mark` if the map is valid. CUTLASS clears bit 21 of this word in maps of small tensors, as a
    // remedy for drivers up to CUDA 13.1. So the mark does not have that bit.
    std::uint64_t known = 0;
    std::uint64_t stride[4] = {};  // bytes, for all axes except the first
    // For columns (im2col), `box` has the numbers of channels and of pixels.
    std::uint32_t size[5] = {}, box[5] = {};
    // For columns: the offsets of the bounding box's corners from the tensor's first and last
    // pixel, on all axes except channels and images. Wide columns have a box along the first axis
    // alone.
    std::int16_t lower[3] = {}, upper[3] = {};
    std::uint8_t step[5] = {};
    std::uint8_t rank = 0;
    Element type = Element::u8;
    std::uint8_t swizzle = 0;     // swizzled address bits above the lowest four, or in_96_bytes
    std::uint8_t interleave = 0;  // only 0 is supported
    std::uint8_t fill_nan = 0;    // fills outside of a tensor of reals with NaNs, otherwise zeros
    Access access = Access::tiles;
    Atom atom = Atom::b16;

    bool real() const { return type >= Element::f16 && type <= Element::tf32_ftz; }
    // Bits of an element in global and in shared memory; 0 if the type is not supported.
    unsigned bits() const {
        static constexpr std::uint8_t list[] = {8,  16, 32, 32, 64, 64, 16, 32,
                                                32, 64, 16, 32, 32, 4,  4,  6};
        const auto n = static_cast<unsigned>(type);
        return n < sizeof list ? list[n] : 0;
    }
    unsigned shared_bits() const { return is_padded() ? 8 : bits(); }
    bool is_packed() const { return bits() != 0 && bits() < 8; }
    bool is_padded() const { return type == Element::b4x16_p64 || type == Element::b6x16_p32; }
    // Swizzling in 96 bytes moves pieces of 16 bytes as swizzling in 32 bytes does.
    unsigned swizzled_bits() const { return swizzle == in_96_bytes ? 1 : swizzle; }
    // Bytes of a row of the box in shared memory.
    std::uint64_t row_bytes() const { return std::uint64_t{box[0]} * shared_bits() / 8; }
    bool is_wide() const { return access == Access::wide || access == Access::wide_128; }
};
inline constexpr std::size_t tensor_map_bytes = 128;
static_assert(sizeof(TensorMap) <= tensor_map_bytes);
static_assert(offsetof(TensorMap, known) == 8 && (TensorMap::mark >> 21 & 1) == 0);

// Reads the 128 bytes of a map. Compilers such as the CuTe DSL write maps themselves, in the layout
// that GPUs read. Of those, tiled maps are read. `known` is not the mark if it is no map.
TensorMap read_tensor_map(const std::byte* bytes);

}  // namespace cupola::cpu
