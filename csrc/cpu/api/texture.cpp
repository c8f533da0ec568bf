// csrc/cpu/api/texture.cpp - cu* entry points: texture and surface objects.
#include "cpu/device/base/array_limits.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/texture/array.hpp"
#include "cpu/device/texture/texture_object.hpp"

using namespace cupola::cpu;

CUPOLA_API CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t* width, CUarray_format format,
                                                       unsigned channels, CUdevice device) {
    return entry([&] {
        require(width);
        Driver::get().device(device);
        texel_format(format, channels);  // throws if textures have no such texels
        *width = ArrayLimits::linear;
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuTexObjectCreate(CUtexObject* out, const CUDA_RESOURCE_DESC* resource,
                                      const CUDA_TEXTURE_DESC* description,
                                      const CUDA_RESOURCE_VIEW_DESC* view) {
    return entry([&] {
        require(out && resource && description);
        const auto& context = Context::usable();
        TextureObject object{make_texture(Driver::get(), *resource, *description, view),
                             context.get(),
                             *resource,
                             *description,
                             {}};
        if (view) object.view = *view;
        *out = Driver::get().textures.add(std::move(object));
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuTexObjectDestroy(CUtexObject handle) {
    return entry([&] {
        Context::usable();
        Driver::get().textures.remove(handle, false);  // an unknown handle is not an error
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC* out, CUtexObject handle) {
    return entry([&] {
        require(out);
        *out = Driver::get().textures.get(handle, false).resource;
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC* out, CUtexObject handle) {
    return entry([&] {
        require(out);
        *out = Driver::get().textures.get(handle, false).description;
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC* out,
                                                   CUtexObject handle) {
    return entry([&] {
        require(out);
        *out = Driver::get().textures.get(handle, false).view;
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuSurfObjectCreate(CUsurfObject* out, const CUDA_RESOURCE_DESC* resource) {
    return entry([&] {
        require(out && resource);
        const auto& context = Context::usable();
        TextureObject object{
            make_surface(Driver::get(), *resource), context.get(), *resource, {}, {}};
        *out = Driver::get().textures.add(std::move(object));
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuSurfObjectDestroy(CUsurfObject handle) {
    return entry([&] {
        Context::usable();
        Driver::get().textures.remove(handle, true);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC* out, CUsurfObject handle) {
    return entry([&] {
        require(out);
        *out = Driver::get().textures.get(handle, true).resource;
        return CUDA_SUCCESS;
    });
}
