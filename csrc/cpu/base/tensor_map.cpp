// csrc/cpu/base/tensor_map.cpp - reads a tensor map, which may have the layout of a GPU's map.
#include "cpu/base/tensor_map.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace cupola::cpu {
namespace {

using Element = TensorMap::Element;

// The second word of a GPU's map begins with these fields. Maps of compute capability 10.0 have
// bit 1 set, and bit 21 in most of them. Hints for the cache are not read. Swizzles in pieces of 64
// bytes, and those that are flipped, have bits that no known map shows.
struct Head {
    std::uint64_t word;

    unsigned bits(unsigned first, unsigned count) const {
        return static_cast<unsigned>(word >> first & ((1u << count) - 1));
    }
    bool is_tiled() const {
        return (bits(0, 4) == 0 || bits(0, 4) == 2) && bits(20, 1) == 0 && bits(22, 10) == 0;
    }
    unsigned rank() const { return bits(4, 3) + 1; }
    unsigned type() const { return bits(7, 4); }
    unsigned interleave() const { return bits(11, 2); }
    unsigned swizzle() const { return bits(13, 2); }
    bool fill_nan() const { return bits(15, 1) != 0; }
    bool rounds_to_tf32() const { return bits(16, 1) != 0; }
    TensorMap::Atom atom() const {
        return bits(19, 1) ? TensorMap::Atom::b32 : TensorMap::Atom::b16;
    }
};

// By the number in a GPU's map.
constexpr Element elements[] = {
    Element::u8,   Element::u16,   Element::u32,       Element::s32,      Element::u64,
    Element::s64,  Element::f16,   Element::f32,       Element::f32_ftz,  Element::f64,
    Element::bf16, Element::b4x16, Element::b4x16_p64, Element::b6x16_p32};

// Words 2 to 7 have the strides in units of 16 bytes, and numbers that are one less than the
// sizes, the steps and the box. Upper bits of strides are in word 3.
void read_axes(const std::uint64_t* words, TensorMap& map) {
    const auto half = [&](unsigned n) {
        return static_cast<std::uint32_t>(words[n / 2] >> n % 2 * 32);
    };
    const std::uint32_t upper = half(7);
    for (unsigned n = 0; n < std::size(map.stride); ++n)
        map.stride[n] = (std::uint64_t{upper >> 4 * n & 15} << 32 | half(3 + n)) * 16;
    for (unsigned n = 0; n < std::size(map.size); ++n) {
        map.size[n] = std::max(half(8 + n), half(8 + n) + 1);  // 2^32 is stored as 2^32 - 1
        map.step[n] =
            n == 0 ? std::uint8_t{1} : static_cast<std::uint8_t>((half(13) >> 3 * n & 7) + 1);
        const std::uint64_t box = n == 0 ? words[6] >> 56 : words[7] >> 8 * (n - 1);
        map.box[n] = static_cast<std::uint32_t>((box & 255) + 1);
    }
}

}  // namespace

TensorMap read_tensor_map(const std::byte* bytes) {
    TensorMap map;
    std::memcpy(static_cast<void*>(&map), bytes, sizeof map);
    if (map.known == TensorMap::mark) return map;
    std::uint64_t words[8];
    std::memcpy(words, bytes, sizeof words);
    const Head head{words[1]};
    if (words[0] == 0 || !head.is_tiled() || head.type() >= std::size(elements)) return map;
    TensorMap read;
    read.known = TensorMap::mark;
    read.address = words[0];
    read.rank = static_cast<std::uint8_t>(head.rank());
    read.type = elements[head.type()];
    if (head.rounds_to_tf32() && read.type == Element::f32) read.type = Element::tf32;
    if (head.rounds_to_tf32() && read.type == Element::f32_ftz) read.type = Element::tf32_ftz;
    read.interleave = static_cast<std::uint8_t>(head.interleave());
    read.swizzle = static_cast<std::uint8_t>(head.swizzle());
    read.fill_nan = head.fill_nan();
    read.atom = head.atom();
    read_axes(words, read);
    return read;
}

}  // namespace cupola::cpu
