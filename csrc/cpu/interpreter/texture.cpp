// csrc/cpu/interpreter/texture.cpp - handlers of texture instructions.
//
// Handlers work lane by lane, as each lane reads its own texels.
#include "cpu/interpreter/texture.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/interpreter/block.hpp"
#include "cpu/interpreter/sample.hpp"
#include "cpu/interpreter/texel.hpp"

namespace cupola::cpu::interpreter {

const TextureSite& site_of(const DecodedOp* ip, Warp& w) {
    return block_of(w).kernel().textures[static_cast<std::size_t>(ip->imm)];
}

TextureView* view_of(const DecodedOp* ip, Warp& w, std::byte* r, const TextureSite& site,
                     unsigned lane, bool surface) {
    const std::uint64_t handle = at<const std::uint64_t>(r, site.handle)[lane];
    TextureView* view = block_of(w).texture(handle);
    if (view && view->texture->surface == surface) return view;
    block_of(w).fault(w, ip, Fault::Kind::illegal_address, lane,
                      surface ? "no surface" : "no texture", handle);
    return nullptr;
}

namespace {

std::uint32_t texture_word(std::byte* r, std::int32_t offset, unsigned lane) {
    return at<const std::uint32_t>(r, offset)[lane];
}

void write_half_channel(std::byte* r, std::int32_t offset, unsigned lane, std::uint32_t bits) {
    at<std::uint16_t>(r, offset)[lane] = static_cast<std::uint16_t>(bits);
}

void write_texel(const TextureSite& site, std::byte* r, unsigned lane, const Texel& texel) {
    for (unsigned k = 0; k < site.values; ++k) {
        if (site.type == ptx::Type::f16x2) {
            at<std::uint32_t>(r, site.value[k])[lane] =
                half_of(real_of(texel.bits[2 * k])) |
                std::uint32_t{half_of(real_of(texel.bits[2 * k + 1]))} << 16;
        } else if (site.type == ptx::Type::f16) {
            write_half_channel(r, site.value[k], lane, half_of(real_of(texel.bits[k])));
        } else {
            at<std::uint32_t>(r, site.value[k])[lane] = texel.bits[k];
        }
    }
}

Fetch fetch_of(const TextureSite& site, std::byte* r, unsigned lane) {
    Fetch fetch;
    fetch.geometry = site.geometry;
    fetch.integral = site.integral;
    const unsigned axes = ptx::axes_of(site.geometry);
    for (unsigned k = 0; k < axes; ++k) {
        fetch.coordinate[k] = texture_word(r, site.coordinate[k], lane);
        if (site.offset[k])
            fetch.offset[k] = static_cast<std::int32_t>(texture_word(r, site.offset[k], lane));
    }
    if (site.layer) fetch.layer = texture_word(r, site.layer, lane);  // unsigned
    switch (site.operation) {
        case TextureOperation::FetchLevel:
            fetch.level = Fetch::Level::given;
            fetch.lod = texture_word(r, site.level, lane);
            break;
        case TextureOperation::FetchGradient:
            fetch.level = Fetch::Level::gradient;
            for (unsigned n = 0; n < 2; ++n)
                for (unsigned k = 0; k < axes; ++k)
                    fetch.gradient[n][k] = real_of(texture_word(r, site.gradient[n][k], lane));
            break;
        case TextureOperation::Gather:
            fetch.component = site.component;
            break;
        default:
            break;
    }
    return fetch;
}

[[gnu::noinline]] const DecodedOp* texture_fetch(const DecodedOp* ip, Warp& w, std::byte* r) {
    const TextureSite& site = site_of(ip, w);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        TextureView* view = view_of(ip, w, r, site, lane, false);
        if (!view) return stop_faulted(w);
        Texel texel;
        std::uintptr_t bad = 0;
        if (!sample(*view, fetch_of(site, r, lane), texel, bad)) {
            block_of(w).fault(w, ip, Fault::Kind::illegal_address, lane,
                              "illegal address, read as a texture", bad);
            return stop_faulted(w);
        }
        write_texel(site, r, lane, texel);
    }
    // All texels are resident.
    if (site.resident) bits_at(r, site.resident) |= w.mask;
    return ip + 1;
}

// The values of a query have OpenCL's numbers, which the manual uses.
std::uint32_t channel_type(const Texture& t) {
    using Kind = TexelFormat::Kind;
    const bool fraction =
        t.format.kind != Kind::real && !t.surface && !t.sampler.as_integer && t.format.bytes < 4;
    const unsigned size = t.format.bytes == 1 ? 0 : t.format.bytes == 2 ? 1 : 2;
    if (t.format.kind == Kind::real) return t.format.bytes == 2 ? 0x10DD : 0x10DE;
    if (fraction) return (t.format.kind == Kind::integer ? 0x10D0 : 0x10D2) + size;
    return (t.format.kind == Kind::integer ? 0x10D7 : 0x10DA) + size;
}

std::uint32_t channel_order(const Texture& t) {
    return t.format.channels == 1 ? 0x10B0 : t.format.channels == 2 ? 0x10B2 : 0x10B5;
}

std::uint32_t answer(const Texture& t, ptx::Query query, std::uint32_t level) {
    using Query = ptx::Query;
    const Texels none{0, 0, 0, 0, 0, 0};
    const Texels& box = level < t.levels.size() ? t.levels[level] : none;
    const unsigned faces = t.cube ? 6 : 1;
    switch (query) {
        case Query::width:
            return box.width;
        case Query::height:
            return t.axes > 1 ? box.height : 0;
        case Query::depth:
            return t.axes > 2 ? box.depth : 0;
        case Query::channel_data_type:
            return channel_type(t);
        case Query::channel_order:
            return channel_order(t);
        case Query::normalized_coords:
            return t.sampler.normalized;
        case Query::array_size:
            return t.layered ? box.depth / faces : 0;
        case Query::num_mipmap_levels:
            return static_cast<std::uint32_t>(t.levels.size());
        case Query::num_samples:
            return 1;
        case Query::filter_mode:
            return t.sampler.linear;
        case Query::addr_mode_0:
        case Query::addr_mode_1:
        case Query::addr_mode_2:
            return static_cast<std::uint32_t>(
                t.sampler.address[static_cast<unsigned>(query) -
                                  static_cast<unsigned>(Query::addr_mode_0)]);
        case Query::force_unnormalized_coords:
        case Query::memory_layout:
            return 0;
    }
    return 0;
}

[[gnu::noinline]] const DecodedOp* texture_query(const DecodedOp* ip, Warp& w, std::byte* r) {
    const TextureSite& site = site_of(ip, w);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        const bool surface = site.operation == TextureOperation::QuerySurface;
        const TextureView* view = view_of(ip, w, r, site, lane, surface);
        if (!view) return stop_faulted(w);
        const std::uint32_t level = site.level ? texture_word(r, site.level, lane) : 0;
        at<std::uint32_t>(r, site.value[0])[lane] = answer(*view->texture, site.query, level);
    }
    return ip + 1;
}

[[gnu::noinline]] const DecodedOp* is_texture_kind(const DecodedOp* ip, Warp& w, std::byte* r) {
    const TextureSite& site = site_of(ip, w);
    std::uint32_t yes = 0;
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        // True for variables of the module only, not for texture objects.
        for (const auto& [number, bound] : block_of(w).launch().references)
            if (number == at<const std::uint64_t>(r, site.handle)[lane] && bound &&
                site.operation != TextureOperation::IsSampler &&
                bound->surface == (site.operation == TextureOperation::IsSurface))
                yes |= 1u << lane;
    }
    std::uint32_t& p = bits_at(r, site.value[0]);
    p = (p & ~w.mask) | yes;
    return ip + 1;
}

}  // namespace

const TextureControl texture_control{
    &threaded<&texture_fetch>,
    &threaded<&texture_query>,
    &threaded<&is_texture_kind>,
};

}  // namespace cupola::cpu::interpreter
