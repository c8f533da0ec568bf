// csrc/cpu/exec/texel.hpp - texels: four values of 32 bits, as they lie in memory and as a fetch
// gives them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/texture.hpp"

namespace cupola::cpu::exec {

// Channels in the order r, g, b, a: floats, or integers of 32 bits.
struct Texel {
    std::uint32_t bits[4] = {0, 0, 0, 0};
};

std::uint32_t bits_of(float value);
float real_of(std::uint32_t bits);

// Whether fetches give floats: of fractions and floating point, but where integers are wanted.
bool gives_real(const TexelFormat& format, const Sampler& sampler);

// Whether a channel lies on the curve of sRGB.
bool is_srgb(const TexelFormat& format, const Sampler& sampler, unsigned channel);

// Channels as they are stored, integers widened to 32 bits; 0 where there is none.
Texel load_texel(const TexelFormat& format, const std::byte* from);
// The colour beyond the borders, as a texel of the format would hold it.
Texel border_texel(const TexelFormat& format, const Sampler& sampler);
// Floating point as floats of 32 bits; integers as they are.
Texel plain_texel(const TexelFormat& format, const Sampler& sampler, const Texel& stored);
// What a fetch of one texel gives.
Texel fetched_texel(const TexelFormat& format, const Sampler& sampler, const Texel& stored);
// What sust.p stores: channels of 32 bits, cut or rounded to the format.
void store_texel(const TexelFormat& format, const std::uint32_t* channels, unsigned count,
                 std::byte* to);

std::uint16_t half_of(float value);      // to nearest, ties to even
std::uint16_t half_within(float value);  // towards zero
float real_of_half(std::uint16_t bits);

}  // namespace cupola::cpu::exec
