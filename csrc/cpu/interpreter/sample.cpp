// csrc/cpu/interpreter/sample.cpp - selects and filters the texels of a fetch.
//
// Fixed-point precision is that of devices of capability 9.0, which was measured.
#include "cpu/interpreter/sample.hpp"

#include <algorithm>
#include <cmath>

#include "cpu/interpreter/blend.hpp"

namespace cupola::cpu::interpreter {
namespace {

using Address = Sampler::Address;

constexpr std::int64_t outside = -1;
// Coordinates are clamped to these values, beyond which results do not change. A normalized
// coordinate of this size is an even integer, where wrapped and mirrored coordinates repeat.
constexpr double farthest = 0x1p40, farthest_normalized = 0x1p26;

// For one axis: the texels to read, and the weight of the second texel in 256ths.
struct Taps {
    std::int64_t index[2] = {0, 0};
    std::uint32_t weight = 0;
};

std::int64_t addressed(std::int64_t index, std::int64_t extent, Address mode) {
    switch (mode) {
        case Address::wrap:
            index %= extent;
            return index < 0 ? index + extent : index;
        case Address::mirror: {
            index %= 2 * extent;
            if (index < 0) index += 2 * extent;
            return index < extent ? index : 2 * extent - 1 - index;
        }
        case Address::border:
            return index >= 0 && index < extent ? index : outside;
        case Address::clamp:
            break;
    }
    return std::clamp<std::int64_t>(index, 0, extent - 1);
}

// A coordinate in texels. A normalized one has 21 fraction bits before it is scaled.
double in_texels(std::uint32_t bits, std::uint32_t extent, bool normalized) {
    double x = static_cast<double>(real_of(bits));
    if (!(std::fabs(x) >= 0x1p-126)) return 0;  // denormal or NaN
    const double limit = normalized ? farthest_normalized : farthest;
    x = std::clamp(x, -limit, limit);
    return normalized ? std::floor(x * 0x1p21) * 0x1p-21 * extent : x;
}

std::int64_t floored(double x) { return static_cast<std::int64_t>(std::floor(x)); }

// Filtered coordinates have 8 fraction bits.
Taps linear_taps(double x, std::int64_t shift, std::uint32_t extent, Address mode, bool gather) {
    x += static_cast<double>(shift);
    if (mode == Address::clamp && !gather)
        x = std::clamp(x, 0.5, static_cast<double>(extent) - 0.5);
    const std::int64_t fixed = floored((x - 0.5) * 256 + 0.5);
    Taps t;
    t.index[0] = addressed(fixed >> 8, extent, mode);
    t.index[1] = addressed((fixed >> 8) + 1, extent, mode);
    t.weight = static_cast<std::uint32_t>(fixed & 255);
    return t;
}

Taps nearest_taps(std::int64_t index, std::uint32_t extent, Address mode) {
    Taps t;
    t.index[0] = t.index[1] = addressed(index, extent, mode);
    return t;
}

// The face of a cube that a direction points to, and its coordinates there, 0 to 1.
struct Face {
    unsigned number = 0;
    float s = 0, t = 0;
};

// A coordinate on a face, 0 to 1; the middle for a direction without length.
float on_face(float along, float longest) {
    if (!(longest > 0) || std::isnan(along)) return 0.5f;
    return (along / longest + 1) / 2;
}

Face face_of(const std::uint32_t (&direction)[3]) {
    const float x = real_of(direction[0]), y = real_of(direction[1]), z = real_of(direction[2]);
    const auto size = [](float v) { return std::isnan(v) ? 0 : std::fabs(v); };
    const float ax = size(x), ay = size(y), az = size(z);
    if (std::isinf(ax) || std::isinf(ay) || std::isinf(az)) return {4, 0.5f, 0.5f};
    if (az >= ax && az >= ay)
        return {z < 0 ? 5u : 4u, on_face(z < 0 ? -x : x, az), on_face(-y, az)};
    if (ay >= ax) return {y < 0 ? 3u : 2u, on_face(x, ay), on_face(y < 0 ? -z : z, ay)};
    return {x < 0 ? 1u : 0u, on_face(x < 0 ? z : -z, ax), on_face(-y, ax)};
}

// A fetch from one level of a texture.
class Level {
  public:
    Level(TextureView& view, const Fetch& fetch, const Texels& box)
        : view_(view), box_(box), axes_(fetch.face ? 2 : ptx::axes_of(fetch.geometry)) {
        const Sampler& sampler = view_.texture->sampler;
        const bool gather = fetch.component >= 0, normalized = sampler.normalized || fetch.face;
        const bool linear = gather || (sampler.linear && !fetch.integral);
        const std::uint32_t extent[3] = {box_.width, box_.height, box_.depth};
        for (unsigned k = 0; k < axes_; ++k) {
            const Address mode = sampler.address[k];
            const std::int64_t shift = fetch.offset[k];
            if (fetch.integral) {
                whole(k, static_cast<std::int32_t>(fetch.coordinate[k]) + shift, extent[k],
                      fetch.level == Fetch::Level::given);
                continue;
            }
            const double x = in_texels(fetch.coordinate[k], extent[k], normalized);
            taps_[k] = linear ? linear_taps(x, shift, extent[k], mode, gather)
                              : nearest_taps(floored(x) + shift, extent[k], mode);
        }
        // A 1D texture is one row of a plane, and the filter is centred on that row's edge.
        if (fetch.geometry == ptx::Geometry::d1 && linear && sampler.address[1] == Address::border)
            taps_[1] = {{outside, 0}, 128};
        if (axes_ < 3) place_layer(fetch);
    }

    // Integer coordinates outside the texture return zeros.
    bool nothing() const { return nothing_; }

    bool nearest(Texel& out, std::uintptr_t& bad) {
        Texel stored;
        if (!read(0, stored, bad)) return false;
        out = fetched_texel(view_.texture->format, view_.texture->sampler, stored);
        return true;
    }

    // Adds this level's texels, with a total weight of `share` 256ths.
    bool add_to(Blend& blend, std::uint32_t share, bool first, std::uintptr_t& bad) {
        if (axes_ < 3) return add_plane(blend, 0, share, bad);
        // The first level's front weight is rounded, the second level's back weight.
        const std::uint32_t front = ((256 - taps_[2].weight) * share + 128) >> 8;
        const std::uint32_t back = first ? share - front : (taps_[2].weight * share + 128) >> 8;
        return add_plane(blend, 0, share - back, bad) && add_plane(blend, 4, back, bad);
    }

    // One channel of the four texels around a point, counterclockwise from the lower left.
    bool gathered(unsigned component, Texel& out, std::uintptr_t& bad) {
        static constexpr unsigned corners[4] = {2, 3, 1, 0};
        for (unsigned n = 0; n < 4; ++n) {
            Texel stored;
            if (!read(corners[n], stored, bad)) return false;
            out.bits[n] = fetched_texel(view_.texture->format, view_.texture->sampler, stored)
                              .bits[component];
        }
        return true;
    }

  private:
    // With an explicit level, coordinates outside are clamped.
    void whole(unsigned k, std::int64_t index, std::uint32_t extent, bool clamps) {
        const bool in = index >= 0 && index < std::int64_t{extent};
        nothing_ |= !in && !clamps;
        taps_[k] = nearest_taps(index, extent, Address::clamp);
    }

    void place_layer(const Fetch& fetch) {
        const std::int64_t depth = box_.depth;
        nothing_ |= fetch.integral && fetch.layer >= depth && fetch.level != Fetch::Level::given;
        taps_[2].index[0] = taps_[2].index[1] = std::clamp<std::int64_t>(fetch.layer, 0, depth - 1);
    }

    bool add_plane(Blend& blend, unsigned first, std::uint32_t share, std::uintptr_t& bad) {
        const PlaneWeights weights = plane_weights(taps_[0].weight, taps_[1].weight, share);
        blend.begin_plane();
        for (unsigned n = 0; n < 4; ++n) {
            if (weights.of[n] == 0) continue;
            Texel stored;
            if (!read(first + n, stored, bad)) return false;
            blend.add(plain_texel(view_.texture->format, view_.texture->sampler, stored),
                      weights.of[n]);
        }
        return true;
    }

    bool read(unsigned corner, Texel& texel, std::uintptr_t& bad) {
        const Texture& texture = *view_.texture;
        std::uintptr_t address = box_.begin;
        const std::uint64_t step[3] = {texture.format.size(), box_.row, box_.slice};
        for (unsigned k = 0; k < 3; ++k) {
            const std::int64_t index = taps_[k].index[corner >> k & 1];
            if (index == outside) {
                texel = border_texel(texture.format, texture.sampler);
                return true;
            }
            address += static_cast<std::uint64_t>(index) * step[k];
        }
        const std::byte* from = view_.find(address, texture.format.size());
        if (!from) {
            bad = address;
            return false;
        }
        texel = load_texel(texture.format, from);
        return true;
    }

    TextureView& view_;
    const Texels& box_;
    const unsigned axes_;
    bool nothing_ = false;
    Taps taps_[3];
};

// A level has 8 fraction bits; the rest is truncated.
std::int64_t fixed_level(float level) {
    if (!(level == level)) return 0;
    return static_cast<std::int64_t>(std::clamp(static_cast<double>(level), -1e6, 1e6) * 256);
}

// log2(1 + n / 256) in 256ths, as a GPU computes it.
constexpr std::uint8_t logarithms[256] = {
    0,   2,   4,   5,   6,   8,   9,   11,  12,  13,  15,  16,  18,  19,  20,  22,  23,  24,  26,
    27,  28,  30,  31,  32,  34,  35,  36,  38,  39,  40,  42,  43,  44,  45,  47,  48,  49,  50,
    52,  53,  54,  55,  57,  58,  59,  60,  62,  63,  64,  65,  66,  68,  69,  70,  71,  72,  74,
    75,  76,  77,  78,  79,  81,  82,  83,  84,  85,  86,  88,  89,  90,  91,  92,  93,  94,  95,
    97,  98,  99,  100, 101, 102, 103, 104, 105, 106, 107, 109, 110, 111, 112, 113, 114, 115, 116,
    117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 130, 131, 132, 133, 135, 136,
    137, 137, 138, 139, 140, 141, 142, 143, 144, 145, 146, 147, 148, 149, 150, 151, 152, 153, 154,
    155, 156, 157, 158, 159, 160, 161, 162, 162, 163, 164, 165, 166, 167, 168, 169, 170, 171, 172,
    173, 173, 174, 175, 176, 177, 178, 179, 180, 181, 181, 182, 183, 184, 185, 186, 187, 188, 188,
    189, 190, 191, 192, 193, 194, 195, 195, 196, 197, 198, 199, 200, 200, 201, 202, 203, 204, 205,
    205, 206, 207, 208, 209, 210, 210, 211, 212, 213, 214, 214, 215, 216, 217, 218, 218, 219, 220,
    221, 222, 222, 223, 224, 225, 226, 226, 227, 228, 229, 229, 230, 231, 232, 233, 233, 234, 235,
    236, 236, 237, 238, 239, 239, 240, 241, 242, 242, 243, 244, 245, 245, 246, 247, 248, 248, 249,
    250, 251, 251, 252, 253, 253, 254, 255, 255,
};

std::int64_t fixed_logarithm(double length) {
    if (!(length > 0x1p-64)) return -64 * 256;
    if (length > 0x1p64) return 64 * 256;
    const int exponent = std::ilogb(length);
    const auto n = static_cast<unsigned>((std::ldexp(length, -exponent) - 1) * 256);
    return std::int64_t{exponent} * 256 + logarithms[std::min(n, 255u)];
}

// The length in texels of a footprint's edge: its longest component plus parts of the other
// components.
double length_of(const float (&edge)[3], const Texels& box, unsigned axes) {
    const double extent[3] = {static_cast<double>(box.width), static_cast<double>(box.height),
                              static_cast<double>(box.depth)};
    double part[3] = {0, 0, 0};
    for (unsigned k = 0; k < axes; ++k)
        part[k] = edge[k] == edge[k] ? std::fabs(static_cast<double>(edge[k])) * extent[k] : 0;
    std::sort(part, part + 3);
    return part[2] + part[1] * 11 / 32 + part[0] / 4;
}

// The level of a fetch before bias and limits. No manual gives the formula; it is exact to a GPU
// for footprints along an axis.
std::int64_t level_of(const Texture& texture, const Fetch& fetch) {
    if (fetch.level == Fetch::Level::given) return fixed_level(real_of(fetch.lod));
    if (fetch.level != Fetch::Level::gradient) return 0;
    const unsigned axes = ptx::axes_of(fetch.geometry);
    Texels box = texture.levels[0];
    if (fetch.face) box.depth = box.width;
    const double a = length_of(fetch.gradient[0], box, axes),
                 b = length_of(fetch.gradient[1], box, axes);
    double longest = std::max(a, b);
    if (axes == 1) longest = std::max(longest, (a + b) * 11 / 16);
    return fixed_logarithm(longest);
}

// The two levels that are blended, and the weight of the second.
struct Levels {
    std::size_t first = 0, second = 0;
    std::uint32_t weight = 0;
};

Levels levels_of(const Texture& texture, const Fetch& fetch) {
    Levels l;
    const Sampler& s = texture.sampler;
    const auto last = static_cast<std::int64_t>(texture.levels.size()) - 1;
    if (last == 0 || fetch.level == Fetch::Level::base) return l;
    if (fetch.integral && fetch.level == Fetch::Level::given) {  // without bias or limits
        l.first = l.second = fetch.lod;
        return l;
    }
    std::int64_t at = level_of(texture, fetch) + fixed_level(s.level_bias);
    at = std::min(std::max(at, fixed_level(s.level_least)), fixed_level(s.level_most));
    at = std::clamp<std::int64_t>(at, 0, last * 256);
    l.first = l.second = static_cast<std::size_t>((at + 128) >> 8);
    if (!s.level_linear) return l;
    l.first = static_cast<std::size_t>(at >> 8);
    l.weight = static_cast<std::uint32_t>(at & 255);
    l.second = l.first + (l.weight != 0 ? 1 : 0);
    return l;
}

// Combinations of texture and fetch that return zeros. 1D textures in linear memory take integer
// coordinates only, other 1D textures never do; 3D needs 3D coordinates.
bool unreadable(const Texture& texture, const Fetch& fetch) {
    const bool line = fetch.geometry == ptx::Geometry::d1, cube = ptx::is_cube(fetch.geometry);
    if (texture.in_memory && texture.axes == 1) return !line || !fetch.integral;
    if (cube != texture.cube && cube) return true;
    if (!cube && (ptx::axes_of(fetch.geometry) == 3) != (texture.axes == 3)) return true;
    return line && fetch.integral;
}

}  // namespace

bool sample(TextureView& view, const Fetch& wanted, Texel& texel, std::uintptr_t& bad) {
    const Texture& texture = *view.texture;
    const Sampler& sampler = texture.sampler;
    const Texels& whole = texture.levels[0];
    if (whole.width == 0 || whole.height == 0 || unreadable(texture, wanted)) return true;
    Fetch fetch = wanted;
    if (ptx::is_cube(fetch.geometry)) {
        const Face face = face_of(wanted.coordinate);
        fetch.face = true;
        fetch.coordinate[0] = bits_of(face.s);
        fetch.coordinate[1] = bits_of(face.t);
        const std::int64_t cubes = std::max<std::int64_t>(texture.levels[0].depth / 6, 1);
        fetch.layer = std::clamp<std::int64_t>(fetch.layer, 0, cubes - 1) * 6 + face.number;
    }
    if (fetch.component >= 0)
        return Level(view, fetch, texture.levels[0])
            .gathered(static_cast<unsigned>(fetch.component), texel, bad);
    if (fetch.integral && fetch.level == Fetch::Level::given && fetch.lod >= texture.levels.size())
        return true;  // zeros
    const Levels levels = levels_of(texture, fetch);
    Level first(view, fetch, texture.levels[levels.first]);
    if (first.nothing()) return true;
    const bool linear = sampler.linear && !fetch.integral;
    if (!linear && levels.weight == 0) return first.nearest(texel, bad);
    Blend blend(texture.format, sampler);
    if (!first.add_to(blend, 256 - levels.weight, true, bad)) return false;
    if (levels.weight != 0 &&
        !Level(view, fetch, texture.levels[levels.second]).add_to(blend, levels.weight, false, bad))
        return false;
    texel = blend.result();
    return true;
}

}  // namespace cupola::cpu::interpreter
