// csrc/cpu/interpreter/texel.cpp - converts texels from and to memory.
#include "cpu/interpreter/texel.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace cupola::cpu::interpreter {
namespace {

using TexelKind = TexelFormat::Kind;

// A stored channel, sign- or zero-extended to 32 bits.
std::uint32_t stored(const TexelFormat& format, const std::byte* from) {
    switch (format.bytes) {
        case 1: {
            std::uint8_t v;
            std::memcpy(&v, from, 1);
            return format.kind == TexelKind::integer
                       ? static_cast<std::uint32_t>(static_cast<std::int8_t>(v))
                       : v;
        }
        case 2: {
            std::uint16_t v;
            std::memcpy(&v, from, 2);
            return format.kind == TexelKind::integer
                       ? static_cast<std::uint32_t>(static_cast<std::int16_t>(v))
                       : v;
        }
        default: {
            std::uint32_t v;
            std::memcpy(&v, from, 4);
            return v;
        }
    }
}

// Unsigned: 0 to the largest value becomes 0 to 1. Signed: -1 to 1, and the two smallest values
// become -1.
float fraction(const TexelFormat& format, std::uint32_t bits) {
    if (format.kind == TexelKind::natural)
        return static_cast<float>(bits) / (format.bytes == 1 ? 255.0f : 65535.0f);
    const auto value = static_cast<float>(static_cast<std::int32_t>(bits));
    return std::max(value / (format.bytes == 1 ? 127.0f : 32767.0f), -1.0f);
}

// The sRGB curve as a GPU has it, in 2^-14: an approximation with eight digits.
constexpr std::uint16_t srgb_curve[256] = {
    0,     5,     10,    15,    20,    25,    30,    35,    40,    45,    50,    55,    60,
    66,    72,    78,    85,    92,    99,    107,   115,   123,   131,   140,   150,   159,
    169,   180,   190,   201,   213,   224,   236,   250,   262,   276,   290,   304,   318,
    332,   348,   364,   380,   396,   412,   430,   448,   466,   484,   504,   524,   544,
    564,   584,   604,   624,   648,   672,   692,   716,   740,   764,   788,   816,   840,
    864,   896,   920,   944,   976,   1000,  1032,  1064,  1088,  1120,  1152,  1184,  1216,
    1248,  1280,  1312,  1352,  1384,  1416,  1456,  1488,  1528,  1560,  1600,  1640,  1672,
    1712,  1752,  1792,  1832,  1872,  1920,  1952,  2000,  2048,  2080,  2128,  2176,  2224,
    2272,  2320,  2368,  2416,  2464,  2512,  2560,  2608,  2656,  2704,  2752,  2816,  2864,
    2912,  2976,  3024,  3072,  3136,  3184,  3248,  3296,  3360,  3424,  3472,  3536,  3600,
    3664,  3712,  3776,  3840,  3904,  3968,  4032,  4096,  4160,  4224,  4288,  4352,  4416,
    4512,  4576,  4640,  4704,  4768,  4864,  4928,  4992,  5056,  5152,  5216,  5280,  5376,
    5440,  5536,  5600,  5696,  5760,  5824,  5920,  6016,  6080,  6176,  6240,  6336,  6400,
    6496,  6592,  6688,  6752,  6848,  6944,  7008,  7104,  7200,  7296,  7392,  7488,  7584,
    7680,  7744,  7872,  7936,  8064,  8128,  8256,  8320,  8448,  8512,  8640,  8768,  8832,
    8960,  9024,  9152,  9280,  9344,  9472,  9600,  9664,  9792,  9920,  9984,  10112, 10240,
    10304, 10432, 10560, 10688, 10816, 10880, 11008, 11136, 11264, 11392, 11456, 11584, 11712,
    11840, 11968, 12096, 12224, 12352, 12480, 12608, 12736, 12864, 12992, 13120, 13248, 13376,
    13504, 13632, 13760, 13888, 14016, 14144, 14272, 14400, 14528, 14656, 14848, 14976, 15104,
    15232, 15360, 15488, 15616, 15744, 16000, 16128, 16256, 16384,
};

float linear_of_srgb(std::uint32_t byte) {
    return static_cast<float>(srgb_curve[byte & 255]) * 0x1p-14f;
}

// Rounds to the nearest byte of sRGB.
std::uint32_t srgb_of_linear(float value) {
    const double v = value > 0 ? std::min(static_cast<double>(value), 1.0) : 0;
    const double curve = v <= 0.0031308 ? v * 12.92 : 1.055 * std::pow(v, 1 / 2.4) - 0.055;
    return static_cast<std::uint32_t>(std::nearbyint(curve * 255));
}

std::int32_t clamped(std::uint32_t bits, std::int32_t least, std::int32_t most) {
    return std::clamp(static_cast<std::int32_t>(bits), least, most);
}

}  // namespace

std::uint32_t bits_of(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

float real_of(std::uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

float real_of_half(std::uint16_t half) {
    const std::uint32_t sign = std::uint32_t{half} >> 15 << 31, rest = half & 0x7fffu;
    if (rest >= 0x7c00) return real_of(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    if (rest < 0x400) {
        const float small = std::ldexp(static_cast<float>(rest), -24);
        return sign ? -small : small;
    }
    return real_of(sign | ((rest << 13) + (112u << 23)));
}

std::uint16_t half_of(float value) {
    const std::uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000u,
                        rest = bits & 0x7fffffffu;
    if (rest > 0x7f800000u) return 0x7fff;
    if (rest >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);
    if (rest < 0x38800000u) {
        // A multiple of 2^-24, rounded to nearest by the processor.
        const auto count = static_cast<std::uint32_t>(
            std::nearbyint(std::ldexp(std::fabs(static_cast<double>(value)), 24)));
        return static_cast<std::uint16_t>(sign | count);
    }
    const std::uint32_t odd = rest >> 13 & 1;
    return static_cast<std::uint16_t>(sign | (rest - (112u << 23) + 0xfffu + odd) >> 13);
}

std::uint16_t half_within(float value) {
    const std::uint16_t nearest = half_of(value);
    const bool beyond = std::fabs(real_of_half(nearest)) > std::fabs(value);
    return static_cast<std::uint16_t>(nearest - (beyond ? 1 : 0));
}

bool gives_real(const TexelFormat& format, const Sampler& sampler) {
    return format.kind == TexelKind::real || (format.bytes < 4 && !sampler.as_integer);
}

Texel load_texel(const TexelFormat& format, const std::byte* from) {
    Texel texel;
    for (unsigned k = 0; k < format.channels; ++k)
        texel.bits[k] = stored(format, from + k * format.bytes);
    return texel;
}

bool is_srgb(const TexelFormat& format, const Sampler& sampler, unsigned channel) {
    return sampler.srgb && !sampler.as_integer && format.kind == TexelKind::natural &&
           format.bytes == 1 && channel < 3;
}

Texel plain_texel(const TexelFormat& format, const Sampler& sampler, const Texel& stored) {
    Texel texel = stored;
    for (unsigned k = 0; k < format.channels; ++k) {
        std::uint32_t& bits = texel.bits[k];
        if (format.kind == TexelKind::real && format.bytes == 2)
            bits = bits_of(real_of_half(static_cast<std::uint16_t>(bits)));
        else if (is_srgb(format, sampler, k))
            bits = bits_of(linear_of_srgb(bits));
    }
    return texel;
}

Texel fetched_texel(const TexelFormat& format, const Sampler& sampler, const Texel& stored) {
    Texel texel = plain_texel(format, sampler, stored);
    if (format.kind == TexelKind::real || !gives_real(format, sampler)) return texel;
    for (unsigned k = 0; k < format.channels; ++k)
        if (!is_srgb(format, sampler, k)) texel.bits[k] = bits_of(fraction(format, texel.bits[k]));
    return texel;
}

Texel border_texel(const TexelFormat& format, const Sampler& sampler) {
    Texel texel;
    const bool real = gives_real(format, sampler);
    for (unsigned k = 0; k < format.channels; ++k) {
        const float colour = sampler.border[k];
        std::uint32_t& bits = texel.bits[k];
        bits = bits_of(colour);
        if (format.kind == TexelKind::real) {
            if (format.bytes == 2) bits = half_within(colour);
        } else if (!real) {
            // The low bytes of the value's bits, extended as the type requires.
            if (format.bytes < 4) {
                const std::uint32_t kept = bits & ((1u << 8 * format.bytes) - 1);
                const std::uint32_t sign = 1u << (8 * format.bytes - 1);
                bits = format.kind == TexelKind::integer ? (kept ^ sign) - sign : kept;
            }
        } else if (is_srgb(format, sampler, k)) {
            bits = srgb_of_linear(colour);
        } else {
            const bool natural = format.kind == TexelKind::natural;
            const float most =
                static_cast<float>((1u << (8 * format.bytes - (natural ? 0 : 1))) - 1);
            const float least = natural ? 0.0f : -1.0f;
            const float value = colour > least ? std::min(colour, 1.0f) : least;
            bits =
                static_cast<std::uint32_t>(static_cast<std::int32_t>(std::nearbyint(value * most)));
        }
    }
    return texel;
}

void store_texel(const TexelFormat& format, const std::uint32_t* channels, unsigned count,
                 std::byte* to) {
    for (unsigned k = 0; k < format.channels; ++k) {
        std::uint32_t bits = k < count ? channels[k] : 0;
        if (format.kind == TexelKind::real && format.bytes == 2) {
            const std::uint32_t sign = bits >> 16 & 0x8000u;  // NaN has one too
            const float value = real_of(bits);
            bits = (std::isnan(value) ? 0x7e00u : half_within(value)) | sign;
        } else if (format.bytes < 4) {
            const int width = 8 * format.bytes;
            if (format.kind == TexelKind::integer)
                bits = static_cast<std::uint32_t>(
                    clamped(bits, -(1 << (width - 1)), (1 << (width - 1)) - 1));
            else
                bits = std::min(bits, (1u << width) - 1);
        }
        std::memcpy(to + k * format.bytes, &bits, format.bytes);
    }
}

}  // namespace cupola::cpu::interpreter
