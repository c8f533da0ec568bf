// csrc/cpu/device/texture/texture_object.cpp - converts CUDA's descriptors of a texture or surface
// to the data that a fetch reads. Descriptors are checked here.
#include "cpu/device/texture/texture_object.hpp"

#include <algorithm>
#include <cmath>

#include "cpu/device/base/array_limits.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/texture/array.hpp"

namespace cupola::cpu {
namespace {

constexpr unsigned max_flags = 2 * CU_TRSF_SEAMLESS_CUBEMAP - 1;

// The resource view formats that equal an array's format.
struct ViewFormat {
    CUresourceViewFormat view;
    TexelFormat format;
};
constexpr auto natural = TexelFormat::Kind::natural, integer = TexelFormat::Kind::integer,
               real = TexelFormat::Kind::real;
constexpr ViewFormat view_formats[] = {
    {CU_RES_VIEW_FORMAT_UINT_1X8, {natural, 1, 1}},
    {CU_RES_VIEW_FORMAT_UINT_2X8, {natural, 1, 2}},
    {CU_RES_VIEW_FORMAT_UINT_4X8, {natural, 1, 4}},
    {CU_RES_VIEW_FORMAT_SINT_1X8, {integer, 1, 1}},
    {CU_RES_VIEW_FORMAT_SINT_2X8, {integer, 1, 2}},
    {CU_RES_VIEW_FORMAT_SINT_4X8, {integer, 1, 4}},
    {CU_RES_VIEW_FORMAT_UINT_1X16, {natural, 2, 1}},
    {CU_RES_VIEW_FORMAT_UINT_2X16, {natural, 2, 2}},
    {CU_RES_VIEW_FORMAT_UINT_4X16, {natural, 2, 4}},
    {CU_RES_VIEW_FORMAT_SINT_1X16, {integer, 2, 1}},
    {CU_RES_VIEW_FORMAT_SINT_2X16, {integer, 2, 2}},
    {CU_RES_VIEW_FORMAT_SINT_4X16, {integer, 2, 4}},
    {CU_RES_VIEW_FORMAT_UINT_1X32, {natural, 4, 1}},
    {CU_RES_VIEW_FORMAT_UINT_2X32, {natural, 4, 2}},
    {CU_RES_VIEW_FORMAT_UINT_4X32, {natural, 4, 4}},
    {CU_RES_VIEW_FORMAT_SINT_1X32, {integer, 4, 1}},
    {CU_RES_VIEW_FORMAT_SINT_2X32, {integer, 4, 2}},
    {CU_RES_VIEW_FORMAT_SINT_4X32, {integer, 4, 4}},
    {CU_RES_VIEW_FORMAT_FLOAT_1X16, {real, 2, 1}},
    {CU_RES_VIEW_FORMAT_FLOAT_2X16, {real, 2, 2}},
    {CU_RES_VIEW_FORMAT_FLOAT_4X16, {real, 2, 4}},
    {CU_RES_VIEW_FORMAT_FLOAT_1X32, {real, 4, 1}},
    {CU_RES_VIEW_FORMAT_FLOAT_2X32, {real, 4, 2}},
    {CU_RES_VIEW_FORMAT_FLOAT_4X32, {real, 4, 4}},
};

void shape_of(Texture& texture, const Array& array) {
    const CUDA_ARRAY3D_DESCRIPTOR& shape = array.shape();
    texture.format = array.format();
    texture.layered = shape.Flags & CUDA_ARRAY3D_LAYERED;
    texture.cube = shape.Flags & CUDA_ARRAY3D_CUBEMAP;
    texture.axes = texture.cube || (shape.Height && (texture.layered || !shape.Depth)) ? 2
                   : shape.Height                                                      ? 3
                                                                                       : 1;
    texture.held = array.memory();
}

void in_memory(const MemoryMap& memory, Texture& texture, CUdeviceptr pointer,
               CUarray_format format, unsigned channels) {
    texture.format = texel_format(format, channels);
    texture.in_memory = true;
    require(pointer % MemoryMap::alignment == 0);
    require(memory.at(pointer).has_value());
}

void of_line(const MemoryMap& memory, Texture& texture, const CUDA_RESOURCE_DESC& resource) {
    const auto& it = resource.res.linear;
    in_memory(memory, texture, it.devPtr, it.format, it.numChannels);
    const std::size_t count = it.sizeInBytes / texture.format.size();
    require(count <= 0xffffffffu);
    Texels line;
    line.begin = it.devPtr;
    line.width = static_cast<std::uint32_t>(count);
    line.row = line.slice = std::uint64_t{line.width} * texture.format.size();
    texture.axes = 1;
    texture.levels = {line};
}

void of_pitch(const MemoryMap& memory, Texture& texture, const CUDA_RESOURCE_DESC& resource) {
    const auto& it = resource.res.pitch2D;
    in_memory(memory, texture, it.devPtr, it.format, it.numChannels);
    require(it.width <= ArrayLimits::pitch_x && it.height <= ArrayLimits::pitch_y &&
            it.pitchInBytes <= ArrayLimits::pitch);
    require(it.pitchInBytes % 32 == 0 && it.pitchInBytes >= it.width * texture.format.size());
    Texels plane;
    plane.begin = it.devPtr;
    plane.width = static_cast<std::uint32_t>(it.width);
    plane.height = static_cast<std::uint32_t>(it.height);
    plane.row = it.pitchInBytes;
    plane.slice = plane.row * plane.height;
    texture.axes = 2;
    texture.levels = {plane};
}

// The levels and layers of a resource that a view selects.
void apply(const CUDA_RESOURCE_VIEW_DESC& view, Texture& texture) {
    const Texels& all = texture.levels[0];
    const ViewFormat* found = nullptr;
    for (const ViewFormat& each : view_formats)
        if (each.view == view.format) found = &each;
    require(found != nullptr, view.format > CU_RES_VIEW_FORMAT_FLOAT_4X32 &&
                                      view.format <= CU_RES_VIEW_FORMAT_UNSIGNED_BC7
                                  ? CUDA_ERROR_NOT_SUPPORTED  // compressed blocks
                                  : CUDA_ERROR_INVALID_VALUE);
    require(found->format.size() == texture.format.size());
    texture.format = found->format;
    require(view.width == all.width);
    require(view.height == (texture.axes > 1 ? all.height : 0) || view.height == all.height);
    require(view.firstMipmapLevel <= view.lastMipmapLevel &&
            view.lastMipmapLevel < texture.levels.size());
    require(view.firstLayer <= view.lastLayer);
    texture.levels.erase(texture.levels.begin() + view.lastMipmapLevel + 1, texture.levels.end());
    texture.levels.erase(texture.levels.begin(), texture.levels.begin() + view.firstMipmapLevel);
    if (!texture.layered) return require(view.lastLayer == 0);
    const unsigned faces = texture.cube ? 6 : 1;
    require(view.lastLayer < all.depth / faces);
    for (Texels& level : texture.levels) {
        level.begin += level.slice * view.firstLayer * faces;
        level.depth = (view.lastLayer - view.firstLayer + 1) * faces;
    }
}

Sampler sampler_of(const CUDA_TEXTURE_DESC& it, const Texture& texture) {
    require(it.flags <= max_flags);
    Sampler s;
    for (unsigned axis = 0; axis < 3; ++axis) {
        // Address modes of axes that the texture lacks are ignored.
        const bool known = it.addressMode[axis] >= CU_TR_ADDRESS_MODE_WRAP &&
                           it.addressMode[axis] <= CU_TR_ADDRESS_MODE_BORDER;
        require(known || axis >= texture.axes);
        if (known) s.address[axis] = static_cast<Sampler::Address>(it.addressMode[axis]);
    }
    require(it.filterMode == CU_TR_FILTER_MODE_POINT || it.filterMode == CU_TR_FILTER_MODE_LINEAR);
    require(it.mipmapFilterMode == CU_TR_FILTER_MODE_POINT ||
            it.mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR);
    s.linear = it.filterMode == CU_TR_FILTER_MODE_LINEAR;
    s.level_linear = it.mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR;
    s.normalized = it.flags & CU_TRSF_NORMALIZED_COORDINATES;
    s.as_integer = it.flags & CU_TRSF_READ_AS_INTEGER;
    s.srgb = it.flags & CU_TRSF_SRGB;
    s.seamless = it.flags & CU_TRSF_SEAMLESS_CUBEMAP;
    s.level_bias = it.mipmapLevelBias;
    s.level_least = it.minMipmapLevelClamp;
    s.level_most = it.maxMipmapLevelClamp;
    std::copy(std::begin(it.borderColor), std::end(it.borderColor), s.border.begin());
    // Anisotropic filtering is not implemented; CUDA does not document its samples.
    require(it.maxAnisotropy <= 1 || texture.levels.size() == 1, CUDA_ERROR_NOT_SUPPORTED);
    const bool whole = texture.format.kind != real && (texture.format.bytes == 4 || s.as_integer);
    require(!(s.linear && whole), CUDA_ERROR_NOT_SUPPORTED);
    // sRGB filtering and filtering across cube edges are not supported either; CUDA does not
    // document them.
    require(!(s.linear && s.srgb && texture.format.bytes == 1), CUDA_ERROR_NOT_SUPPORTED);
    require(!(s.linear && s.seamless && texture.cube), CUDA_ERROR_NOT_SUPPORTED);
    // Wrap and mirror modes require normalized coordinates.
    if (!s.normalized)
        for (auto& mode : s.address)
            if (mode == Sampler::Address::wrap || mode == Sampler::Address::mirror)
                mode = Sampler::Address::clamp;
    return s;
}

}  // namespace

std::shared_ptr<const Texture> make_texture(const Driver& driver,
                                            const CUDA_RESOURCE_DESC& resource,
                                            const CUDA_TEXTURE_DESC& description,
                                            const CUDA_RESOURCE_VIEW_DESC* view) {
    auto made = std::make_shared<Texture>();
    require(resource.flags == 0);
    switch (static_cast<int>(resource.resType)) {
        case CU_RESOURCE_TYPE_ARRAY: {
            const auto array = Array::from(driver, resource.res.array.hArray);
            shape_of(*made, *array);
            made->levels = {array->texels()};
            break;
        }
        case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: {
            const auto array = MipmappedArray::from(driver, resource.res.mipmap.hMipmappedArray);
            shape_of(*made, *array->levels()[0]);
            for (const auto& level : array->levels()) made->levels.push_back(level->texels());
            break;
        }
        case CU_RESOURCE_TYPE_LINEAR:
            of_line(driver.memory, *made, resource);
            break;
        case CU_RESOURCE_TYPE_PITCH2D:
            of_pitch(driver.memory, *made, resource);
            break;
        default:
            fail(CUDA_ERROR_INVALID_VALUE);
    }
    if (view) {
        require(!made->in_memory);
        apply(*view, *made);
    }
    made->sampler = sampler_of(description, *made);
    return made;
}

std::shared_ptr<const Texture> make_surface(const Driver& driver,
                                            const CUDA_RESOURCE_DESC& resource) {
    require(resource.resType == CU_RESOURCE_TYPE_ARRAY && resource.flags == 0);
    const auto array = Array::from(driver, resource.res.array.hArray);
    auto made = std::make_shared<Texture>();
    shape_of(*made, *array);
    made->levels = {array->texels()};
    made->surface = true;
    return made;
}

}  // namespace cupola::cpu
