// csrc/cpu/device/texture/array.cpp - the valid shapes of arrays, and the layout of their texels.
#include "cpu/device/texture/array.hpp"

#include <algorithm>
#include <cstdlib>

#include "cpu/device/base/array_limits.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"

namespace cupola::cpu {
namespace {

// Depth textures and colour attachments exist only for graphics interoperability.
constexpr unsigned array_flags = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST |
                                 CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_TEXTURE_GATHER;
constexpr unsigned absent_flags =
    CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING | CUDA_ARRAY3D_VIDEO_ENCODE_DECODE;

void require_at_most(std::size_t value, unsigned limit) { require(value <= limit); }

void check_cube(const CUDA_ARRAY3D_DESCRIPTOR& s, bool layered) {
    require(s.Width == s.Height && s.Depth != 0);
    require(layered ? s.Depth % 6 == 0 : s.Depth == 6);
    require_at_most(s.Width, ArrayLimits::cube);
    require_at_most(s.Depth, ArrayLimits::cube_layers);
}

void check(const CUDA_ARRAY3D_DESCRIPTOR& s) {
    const bool layered = s.Flags & CUDA_ARRAY3D_LAYERED, cube = s.Flags & CUDA_ARRAY3D_CUBEMAP;
    const bool gather = s.Flags & CUDA_ARRAY3D_TEXTURE_GATHER;
    require((s.Flags & ~(array_flags | absent_flags)) == 0);
    require((s.Flags & absent_flags) == 0, CUDA_ERROR_NOT_SUPPORTED);
    require(s.Width != 0);
    if (gather) {
        require(s.Height != 0 && s.Depth == 0 && !layered && !cube);
        require_at_most(std::max(s.Width, s.Height), ArrayLimits::gather);
    }
    if (cube) return check_cube(s, layered);
    if (layered) {
        require(s.Depth != 0);
        require_at_most(std::max(s.Width, s.Height), ArrayLimits::layered);
        require_at_most(s.Depth, ArrayLimits::layers);
    } else if (s.Depth != 0) {
        require(s.Height != 0);
        require_at_most(std::max({s.Width, s.Height, s.Depth}), ArrayLimits::box);
    } else if (s.Height != 0) {
        require_at_most(s.Width, ArrayLimits::plane_x);
        require_at_most(s.Height, ArrayLimits::plane_y);
    } else {
        require_at_most(s.Width, s.Flags & CUDA_ARRAY3D_SURFACE_LDST ? ArrayLimits::surface_line
                                                                     : ArrayLimits::line);
    }
}

// No overflow: extents are checked, and three 18-bit factors and a 16-byte texel fit 64 bits.
Texels placed(const CUDA_ARRAY3D_DESCRIPTOR& s, const TexelFormat& format) {
    Texels t;
    t.width = static_cast<std::uint32_t>(s.Width);
    t.height = static_cast<std::uint32_t>(std::max<std::size_t>(s.Height, 1));
    t.depth = static_cast<std::uint32_t>(std::max<std::size_t>(s.Depth, 1));
    t.row = std::uint64_t{t.width} * format.size();
    t.slice = t.row * t.height;
    return t;
}

std::size_t halved(std::size_t extent) {
    return extent == 0 ? 0 : std::max<std::size_t>(extent / 2, 1);
}

}  // namespace

TexelFormat texel_format(CUarray_format format, unsigned channels) {
    TexelFormat made;
    using Kind = TexelFormat::Kind;
    switch (static_cast<int>(format)) {
        case CU_AD_FORMAT_UNSIGNED_INT8:
            made = {Kind::natural, 1, 0};
            break;
        case CU_AD_FORMAT_UNSIGNED_INT16:
            made = {Kind::natural, 2, 0};
            break;
        case CU_AD_FORMAT_UNSIGNED_INT32:
            made = {Kind::natural, 4, 0};
            break;
        case CU_AD_FORMAT_SIGNED_INT8:
            made = {Kind::integer, 1, 0};
            break;
        case CU_AD_FORMAT_SIGNED_INT16:
            made = {Kind::integer, 2, 0};
            break;
        case CU_AD_FORMAT_SIGNED_INT32:
            made = {Kind::integer, 4, 0};
            break;
        case CU_AD_FORMAT_HALF:
            made = {Kind::real, 2, 0};
            break;
        case CU_AD_FORMAT_FLOAT:
            made = {Kind::real, 4, 0};
            break;
        default:
            // Formats of video planes and of compressed blocks.
            require(format >= CU_AD_FORMAT_BC1_UNORM, CUDA_ERROR_INVALID_VALUE);
            fail(CUDA_ERROR_NOT_SUPPORTED);
    }
    require(channels == 1 || channels == 2 || channels == 4);
    made.channels = static_cast<std::uint8_t>(channels);
    return made;
}

ArrayMemory::ArrayMemory(std::size_t size, Budget& budget) : size_(size), budget_(budget) {
    require(budget.take(size), CUDA_ERROR_OUT_OF_MEMORY);
    data_ = std::calloc(size, 1);
    if (data_) return;
    budget.give(size);
    fail(CUDA_ERROR_OUT_OF_MEMORY);
}

ArrayMemory::~ArrayMemory() {
    std::free(data_);
    budget_.give(size_);
}

std::shared_ptr<Array> Array::make(Context& context, const CUDA_ARRAY3D_DESCRIPTOR& shape) {
    const TexelFormat format = texel_format(shape.Format, shape.NumChannels);
    check(shape);
    Texels texels = placed(shape, format);
    const auto memory =
        std::make_shared<const ArrayMemory>(texels.slice * texels.depth, context.device().budget());
    texels.begin = memory->begin();
    auto array = std::make_shared<Array>(&context, shape, format, texels, memory, false);
    context.driver().arrays.add(array);
    return array;
}

std::shared_ptr<Array> Array::from(const Driver& driver, CUarray handle) {
    require(handle != nullptr);
    return driver.arrays.get(handle);
}

std::shared_ptr<MipmappedArray> MipmappedArray::make(Context& context,
                                                     const CUDA_ARRAY3D_DESCRIPTOR& shape,
                                                     unsigned levels) {
    const TexelFormat format = texel_format(shape.Format, shape.NumChannels);
    check(shape);
    require_at_most(std::max(shape.Width, shape.Height), ArrayLimits::mipmapped);
    const bool layered = shape.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
    std::size_t largest = std::max(shape.Width, shape.Height);
    if (!layered) largest = std::max(largest, shape.Depth);
    unsigned most = 1;
    for (; largest > 1; largest /= 2) ++most;
    levels = std::clamp(levels, 1u, most);
    std::vector<CUDA_ARRAY3D_DESCRIPTOR> shapes{shape};
    std::size_t bytes = 0;
    std::vector<Texels> all;
    for (unsigned n = 0; n < levels; ++n) {
        CUDA_ARRAY3D_DESCRIPTOR next = shapes.back();
        all.push_back(placed(next, format));
        all.back().begin = bytes;
        bytes += (all.back().slice * all.back().depth + 15) / 16 * 16;
        next.Width = halved(next.Width);
        next.Height = halved(next.Height);
        if (!layered) next.Depth = halved(next.Depth);
        shapes.push_back(next);
    }
    auto made = std::make_shared<MipmappedArray>();
    made->context_ = &context;
    const auto memory = std::make_shared<const ArrayMemory>(bytes, context.device().budget());
    Driver& driver = context.driver();
    for (unsigned n = 0; n < levels; ++n) {
        all[n].begin += memory->begin();
        made->levels_.push_back(
            std::make_shared<Array>(&context, shapes[n], format, all[n], memory, true));
    }
    for (const auto& level : made->levels_) driver.arrays.add(level);
    driver.mipmapped_arrays.add(made);
    return made;
}

std::shared_ptr<MipmappedArray> MipmappedArray::from(const Driver& driver,
                                                     CUmipmappedArray handle) {
    require(handle != nullptr);
    return driver.mipmapped_arrays.get(handle);
}

}  // namespace cupola::cpu
