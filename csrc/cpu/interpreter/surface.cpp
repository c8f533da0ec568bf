// csrc/cpu/interpreter/surface.cpp - handlers of surface loads, stores, reductions.
#include <algorithm>
#include <cstring>

#include "cpu/interpreter/block.hpp"
#include "cpu/interpreter/texel.hpp"
#include "cpu/interpreter/texture.hpp"

namespace cupola::cpu::interpreter {
namespace {

std::uint32_t surface_word(std::byte* r, std::int32_t offset, unsigned lane) {
    return at<const std::uint32_t>(r, offset)[lane];
}

// The address of an access. x is in bytes, or in texels for an access to a whole texel.
struct SurfacePlace {
    enum class Kind : std::uint8_t { there, skipped, fault } kind = Kind::skipped;
    std::byte* memory = nullptr;
};

bool bring_in(std::int64_t& at, std::int64_t extent, ptx::Outside outside) {
    if (at >= 0 && at < extent) return true;
    if (outside != ptx::Outside::clamp) return false;
    at = std::clamp<std::int64_t>(at, 0, extent - 1);
    return true;
}

SurfacePlace surface_place(const DecodedOp* ip, Warp& w, std::byte* r, const TextureSite& site,
                           unsigned lane, unsigned bytes, bool whole) {
    TextureView* view = view_of(ip, w, r, site, lane, true);
    if (!view) return {SurfacePlace::Kind::fault, nullptr};
    const Texels& box = view->texture->levels[0];
    const unsigned axes = ptx::axes_of(site.geometry);
    if (axes != view->texture->axes) return {};  // reads return zeros, writes have no effect
    std::int64_t position[3] = {0, 0, 0};
    for (unsigned k = 0; k < axes; ++k)
        position[k] = static_cast<std::int32_t>(surface_word(r, site.coordinate[k], lane));
    if (site.layer) position[2] = static_cast<std::int32_t>(surface_word(r, site.layer, lane));
    const unsigned unit = whole ? 1 : bytes;
    if (!whole && position[0] % unit != 0) {
        block_of(w).fault(w, ip, Fault::Kind::misaligned_address, lane,
                          "misaligned access of a surface",
                          surface_word(r, site.coordinate[0], lane));
        return {SurfacePlace::Kind::fault, nullptr};
    }
    // The last valid access of a row is the last one that lies completely in the row.
    std::int64_t x = whole ? position[0] : (position[0] < 0 ? -1 : position[0] / unit);
    const std::int64_t width = whole ? box.width : static_cast<std::int64_t>(box.row / unit);
    const bool in = width > 0 && bring_in(x, width, site.outside) &&
                    bring_in(position[1], box.height, site.outside) &&
                    bring_in(position[2], box.depth, site.outside);
    if (!in) {
        if (site.outside != ptx::Outside::trap) return {};
        block_of(w).fault(w, ip, Fault::Kind::illegal_address, lane,
                          "access outside of a surface, at x",
                          surface_word(r, site.coordinate[0], lane));
        return {SurfacePlace::Kind::fault, nullptr};
    }
    const std::uint64_t step = whole ? view->texture->format.size() : unit;
    return {SurfacePlace::Kind::there,
            reinterpret_cast<std::byte*>(box.begin +
                                         static_cast<std::uint64_t>(position[2]) * box.slice +
                                         static_cast<std::uint64_t>(position[1]) * box.row +
                                         static_cast<std::uint64_t>(x) * step)};
}

[[gnu::noinline]] const DecodedOp* surface_load(const DecodedOp* ip, Warp& w, std::byte* r) {
    const TextureSite& site = site_of(ip, w);
    const unsigned width = ptx::bytes_of(site.type);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        const SurfacePlace from = surface_place(ip, w, r, site, lane, width * site.values, false);
        if (from.kind == SurfacePlace::Kind::fault) return stop_faulted(w);
        for (unsigned k = 0; k < site.values; ++k) {
            std::byte* to = r + site.value[k] + lane * width;
            if (from.memory)
                std::memcpy(to, from.memory + k * width, width);
            else
                std::memset(to, 0, width);
        }
    }
    return ip + 1;
}

[[gnu::noinline]] const DecodedOp* surface_store(const DecodedOp* ip, Warp& w, std::byte* r) {
    const TextureSite& site = site_of(ip, w);
    const unsigned width = ptx::bytes_of(site.type);
    const bool whole = site.operation == TextureOperation::SurfaceStoreTexel;
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        const SurfacePlace to = surface_place(ip, w, r, site, lane, width * site.values, whole);
        if (to.kind == SurfacePlace::Kind::fault) return stop_faulted(w);
        if (!to.memory) continue;
        if (whole) {
            std::uint32_t channels[4] = {0, 0, 0, 0};
            for (unsigned k = 0; k < site.values; ++k)
                channels[k] = surface_word(r, site.value[k], lane);
            const std::uint64_t handle = at<const std::uint64_t>(r, site.handle)[lane];
            store_texel(block_of(w).texture(handle)->texture->format, channels, site.values,
                        to.memory);
            continue;
        }
        for (unsigned k = 0; k < site.values; ++k)
            std::memcpy(to.memory + k * width, r + site.value[k] + lane * width, width);
    }
    return ip + 1;
}

template <class T>
void reduce_texel(ptx::Atomic operation, std::byte* memory, T value) {
    auto* to = reinterpret_cast<T*>(memory);
    T old = __atomic_load_n(to, __ATOMIC_RELAXED), next;
    do {
        switch (operation) {
            case ptx::Atomic::min:
                next = std::min(old, value);
                break;
            case ptx::Atomic::max:
                next = std::max(old, value);
                break;
            case ptx::Atomic::and_:
                next = old & value;
                break;
            case ptx::Atomic::or_:
                next = old | value;
                break;
            default:  // types for which the sign does not matter
                __builtin_add_overflow(old, value, &next);
                break;
        }
    } while (
        !__atomic_compare_exchange_n(to, &old, next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

template <class T>
T surface_value(std::byte* r, const TextureSite& site, unsigned lane) {
    return at<const T>(r, site.value[0])[lane];
}

[[gnu::noinline]] const DecodedOp* surface_reduce(const DecodedOp* ip, Warp& w, std::byte* r) {
    const TextureSite& site = site_of(ip, w);
    const unsigned width = ptx::bytes_of(site.type);
    const bool whole = site.operation == TextureOperation::SurfaceReduceTexel;
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        const SurfacePlace to = surface_place(ip, w, r, site, lane, width, whole);
        if (to.kind == SurfacePlace::Kind::fault) return stop_faulted(w);
        if (!to.memory) continue;
        if (reinterpret_cast<std::uintptr_t>(to.memory) % width != 0) {
            block_of(w).fault(w, ip, Fault::Kind::misaligned_address, lane,
                              "misaligned reduction on a surface", 0);
            return stop_faulted(w);
        }
        ptx::Type type = site.type;
        if (whole) {
            const TexelFormat& format =
                block_of(w).texture(at<const std::uint64_t>(r, site.handle)[lane])->texture->format;
            if (format.size() != 4 || format.bytes != 4) {
                block_of(w).fault(w, ip, Fault::Kind::illegal_address, lane,
                                  "a reduction needs texels of 32-bit integers", format.size());
                return stop_faulted(w);
            }
            type = ptx::Type::u32;  // the coordinates are unsigned, for any type of texel
        }
        switch (type) {
            case ptx::Type::s32:
                reduce_texel(site.atomic, to.memory, surface_value<std::int32_t>(r, site, lane));
                break;
            case ptx::Type::u64:
                reduce_texel(site.atomic, to.memory, surface_value<std::uint64_t>(r, site, lane));
                break;
            case ptx::Type::s64:
                reduce_texel(site.atomic, to.memory, surface_value<std::int64_t>(r, site, lane));
                break;
            default:
                reduce_texel(site.atomic, to.memory, surface_value<std::uint32_t>(r, site, lane));
                break;
        }
    }
    return ip + 1;
}

}  // namespace

const SurfaceControl surface_control{
    &threaded<&surface_load>,
    &threaded<&surface_store>,
    &threaded<&surface_reduce>,
};

}  // namespace cupola::cpu::interpreter
