// csrc/cpu/interpreter/blend.cpp - weighted sums of texels, rounded as a GPU's filters round them.
//
// No manual describes the rounding: it was measured.
#include "cpu/interpreter/blend.hpp"

#include <algorithm>
#include <cmath>

namespace cupola::cpu::interpreter {
namespace {

constexpr std::uint32_t whole = 256, nan_bits = 0x7fffffffu;

// The product of two weights.
std::uint32_t share_of(std::uint32_t a, std::uint32_t b) { return (a * b + 128) >> 8; }

// An integer channel as a term of the sum. Unsigned bytes become 16-bit values of the same
// fraction; signed bytes stay as they are.
std::int64_t summand(std::uint32_t bits, const TexelFormat& format) {
    if (format.kind == TexelFormat::Kind::natural) {
        const auto value = static_cast<std::int64_t>(bits);
        return format.bytes == 1 ? value * 257 : value;
    }
    const std::int64_t value = static_cast<std::int32_t>(bits);
    return format.bytes == 1 ? value : std::max<std::int64_t>(value, -32767);
}

// A sum of signed bytes, rescaled to the range of 16-bit values. The steps of 1/127 are
// approximated as the GPU does it.
std::int64_t widened(std::int64_t sum) {
    const std::int64_t part = sum >> 4;
    return sum + ((part + (part >> 8) + 4) >> 3);
}

// `digits` significant bits; `least` is the least exponent.
struct Precision {
    int digits, least;
};

int exponent_of(float value, const Precision& p) {
    return std::max(value == 0 ? p.least : std::ilogb(value), p.least);
}

// Rounds to nearest, ties away from zero.
float rounded_sum(std::int64_t sum, int unit, const Precision& p) {
    if (sum == 0) return 0;
    const std::uint64_t size = static_cast<std::uint64_t>(sum < 0 ? -sum : sum);
    const int top = 63 - __builtin_clzll(size);
    // The last bit that is kept stands for 2^last units.
    int last = std::max(top - (p.digits - 1), p.least - (p.digits - 1) - unit);
    last = std::max(last, 0);
    const std::uint64_t kept = last > 62 ? 0 : last == 0 ? size : ((size >> (last - 1)) + 1) >> 1;
    const float value = std::ldexp(static_cast<float>(kept), last + unit);
    return sum < 0 ? -value : value;
}

// Flushes denormals of f32 to zero.
float flushed(float value) {
    return std::fabs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value;
}

}  // namespace

PlaneWeights plane_weights(std::uint32_t x, std::uint32_t y, std::uint32_t share) {
    const std::uint32_t right = share_of(x, share), left = share - right;
    const std::uint32_t right_far = share_of(right, y), left_near = share_of(left, whole - y);
    return {{left_near, right - right_far, left - left_near, right_far}};
}

Blend::Blend(const TexelFormat& format, const Sampler& sampler) : format_(format) {
    using FormatKind = TexelFormat::Kind;
    for (unsigned c = 0; c < 4; ++c) {
        kind_[c] = format.kind == FormatKind::natural   ? Kind::natural
                   : format.kind == FormatKind::integer ? Kind::integer
                   : format.bytes == 2                  ? Kind::half
                                                        : Kind::single;
        if (is_srgb(format, sampler, c)) kind_[c] = Kind::half;
    }
}

void Blend::begin_plane() { planes_[plane_count_++] = count_; }

void Blend::add(const Texel& texel, std::uint32_t weight) {
    for (unsigned c = 0; c < 4; ++c) terms_[c][count_] = {texel.bits[c], weight};
    ++count_;
}

Texel Blend::result() {
    Texel texel;
    for (unsigned c = 0; c < format_.channels; ++c)
        texel.bits[c] = kind_[c] == Kind::single || kind_[c] == Kind::half
                            ? bits_of(joined_real(c))
                            : bits_of(joined_whole(c));
    return texel;
}

float Blend::joined_whole(unsigned channel) const {
    std::int64_t sum = 0;
    for (unsigned n = 0; n < count_; ++n)
        sum += summand(terms_[channel][n].bits, format_) * terms_[channel][n].weight;
    const bool signed_byte = kind_[channel] == Kind::integer && format_.bytes == 1;
    const auto value = static_cast<float>(signed_byte ? widened(sum) : (sum + 128) >> 8);
    return std::max(value / (kind_[channel] == Kind::natural ? 65535.0f : 32767.0f), -1.0f);
}

// Each plane's texels are truncated to four bits below the precision of its largest texel. Sums are
// then exact, and are rounded once.
float Blend::joined_real(unsigned channel) {
    const Precision p = kind_[channel] == Kind::half ? Precision{11, -14} : Precision{24, -126};
    constexpr int guard = 4, spare = 20;
    int exponent[4] = {p.least, p.least, p.least, p.least}, largest = p.least;
    bool nan = false, up = false, down = false, minus = true;
    float values[most];
    for (unsigned plane = 0; plane < plane_count_; ++plane) {
        const unsigned end = plane + 1 < plane_count_ ? planes_[plane + 1] : count_;
        for (unsigned n = planes_[plane]; n < end; ++n) {
            const Term& term = terms_[channel][n];
            float& value = values[n];
            value = real_of(term.bits);
            if (term.weight == 0) continue;
            minus &= std::signbit(value);
            value = flushed(value);
            nan |= std::isnan(value);
            up |= std::isinf(value) && value > 0;
            down |= std::isinf(value) && value < 0;
            if (std::isfinite(value))
                exponent[plane] = std::max(exponent[plane], exponent_of(value, p));
        }
        largest = std::max(largest, exponent[plane]);
    }
    if (nan || (up && down)) return real_of(nan_bits);
    if (up || down) return up ? HUGE_VALF : -HUGE_VALF;
    std::int64_t sum = 0;
    for (unsigned plane = 0; plane < plane_count_; ++plane) {
        const unsigned end = plane + 1 < plane_count_ ? planes_[plane + 1] : count_;
        std::int64_t part = 0;
        const int unit = exponent[plane] - (p.digits - 1) - guard;
        for (unsigned n = planes_[plane]; n < end; ++n)
            if (const std::uint32_t weight = terms_[channel][n].weight)
                part += static_cast<std::int64_t>(std::ldexp(values[n], -unit)) * weight;
        const int shift = largest - exponent[plane];
        const std::int64_t fine = part * (std::int64_t{1} << spare);
        sum += shift > 62 ? 0 : fine / (std::int64_t{1} << shift);
    }
    if (sum == 0) return minus ? -0.0f : 0.0f;
    return flushed(rounded_sum(sum, largest - (p.digits - 1) - guard - 8 - spare, p));
}

}  // namespace cupola::cpu::interpreter
