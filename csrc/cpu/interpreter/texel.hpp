// csrc/cpu/interpreter/texel.hpp - texels in memory and as a fetch returns them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/base/texture.hpp"

namespace cupola::cpu::interpreter {

// Channels in the order r, g, b, a: floats or 32-bit integers.
struct Texel {
    std::uint32_t bits[4] = {0, 0, 0, 0};
};

std::uint32_t bits_of(float value);
float real_of(std::uint32_t bits);

// Whether fetches return floats: normalized and floating-point formats, unless integers are read.
bool gives_real(const TexelFormat& format, const Sampler& sampler);

// Whether a channel is encoded in sRGB.
bool is_srgb(const TexelFormat& format, const Sampler& sampler, unsigned channel);

// Channels as stored, integers widened to 32 bits; 0 for a missing channel.
Texel load_texel(const TexelFormat& format, const std::byte* from);
// The border colour, as a texel of the format.
Texel border_texel(const TexelFormat& format, const Sampler& sampler);
// Floating-point channels as 32-bit floats; integers unchanged.
Texel plain_texel(const TexelFormat& format, const Sampler& sampler, const Texel& stored);
// The value that a fetch of one texel returns.
Texel fetched_texel(const TexelFormat& format, const Sampler& sampler, const Texel& stored);
// sust.p: stores 32-bit channels, truncated or rounded to the format.
void store_texel(const TexelFormat& format, const std::uint32_t* channels, unsigned count,
                 std::byte* to);

std::uint16_t half_of(float value);      // to nearest, ties to even
std::uint16_t half_within(float value);  // towards zero
float real_of_half(std::uint16_t bits);

}  // namespace cupola::cpu::interpreter
