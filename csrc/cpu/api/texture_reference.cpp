// csrc/cpu/api/texture_reference.cpp - cu* entry points: texture and surface references.
#include <algorithm>
#include <cstring>

#include "cpu/api/handle.hpp"
#include "cpu/device/base/array_limits.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/module/module.hpp"
#include "cpu/device/texture/array.hpp"
#include "cpu/device/texture/texture_object.hpp"
#include "cpu/device/texture/texture_reference.hpp"

using namespace cupola::cpu;

namespace {

using State = TextureReference::State;

std::shared_ptr<TextureReference> reference_of(const void* handle, bool surface = false) {
    auto reference = Driver::get().texture_references.get(handle);
    require(reference->surface() == surface, CUDA_ERROR_INVALID_HANDLE);
    return reference;
}

template <class Change>
CUresult set(CUtexref handle, Change&& change) {
    return entry([&] {
        reference_of(handle)->change(change);
        return CUDA_SUCCESS;
    });
}

// Requires that all output pointers are non-null.
template <class Get, class... Out>
CUresult get(CUtexref handle, Get&& get, Out*... out) {
    return entry([&] {
        require((out && ...));
        get(reference_of(handle)->state());
        return CUDA_SUCCESS;
    });
}

CUresult find(CUmodule handle, const char* name, bool surface, CUtexref* out) {
    return entry([&] {
        require(out && name);
        const auto module = Driver::get().modules.get(handle);
        const auto found =
            module->references() ? module->references()->find(name, surface) : nullptr;
        require(found != nullptr, CUDA_ERROR_NOT_FOUND);
        *out = found->handle();
        return CUDA_SUCCESS;
    });
}

void bind_array(State& state, CUarray handle) {
    const auto array = array_of(handle);
    state.resource = {};
    state.resource.resType = CU_RESOURCE_TYPE_ARRAY;
    state.resource.res.array.hArray = handle;
    state.format = array->shape().Format;
    state.channels = array->shape().NumChannels;
    state.bound = true;
}

void bind_mipmapped(State& state, CUmipmappedArray handle) {
    const CUDA_ARRAY3D_DESCRIPTOR shape = mipmapped_array_of(handle)->levels()[0]->shape();
    state.resource = {};
    state.resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    state.resource.res.mipmap.hMipmappedArray = handle;
    state.format = shape.Format;
    state.channels = shape.NumChannels;
    state.bound = true;
}

bool holds(const State& state, CUresourcetype type) {
    return state.bound && state.resource.resType == type;
}

}  // namespace

CUPOLA_API CUresult cuModuleGetTexRef(CUtexref* out, CUmodule module, const char* name) {
    return find(module, name, false, out);
}
CUPOLA_API CUresult cuModuleGetSurfRef(CUsurfref* out, CUmodule module, const char* name) {
    return find(module, name, true, reinterpret_cast<CUtexref*>(out));
}

CUPOLA_API CUresult cuTexRefCreate(CUtexref* out) {
    return entry([&] {
        require(out);
        auto made = std::make_shared<TextureReference>(Context::usable().get(), "", 0, false);
        *out = made->handle();
        Driver::get().texture_references.add(std::move(made));
        return CUDA_SUCCESS;
    });
}
CUPOLA_API CUresult cuTexRefDestroy(CUtexref handle) {
    return entry([&] {
        require(reference_of(handle)->address() == 0, CUDA_ERROR_INVALID_HANDLE);
        Driver::get().texture_references.remove(handle);
        return CUDA_SUCCESS;
    });
}

// The device finds the references of a kernel in its PTX, so this call only checks.
CUPOLA_API CUresult cuParamSetTexRef(CUfunction function, int, CUtexref handle) {
    return entry([&] {
        function_of(function);
        reference_of(handle);
        return CUDA_SUCCESS;
    });
}

// Bindings.

CUPOLA_API CUresult cuTexRefSetArray(CUtexref handle, CUarray array, unsigned int flags) {
    return set(handle, [&](State& state) {
        require((flags & ~unsigned{CU_TRSA_OVERRIDE_FORMAT}) == 0);
        bind_array(state, array);
    });
}

CUPOLA_API CUresult cuTexRefSetMipmappedArray(CUtexref handle, CUmipmappedArray array,
                                              unsigned int flags) {
    return set(handle, [&](State& state) {
        require((flags & ~unsigned{CU_TRSA_OVERRIDE_FORMAT}) == 0);
        bind_mipmapped(state, array);
    });
}

// An unaligned address is bound at the aligned address before it. The program must add the offset
// to its coordinates.
CUPOLA_API CUresult cuTexRefSetAddress_v2(size_t* offset, CUtexref handle, CUdeviceptr address,
                                          size_t bytes) {
    return set(handle, [&](State& state) {
        const std::size_t past = address % MemoryMap::alignment;
        require(past == 0 || offset != nullptr);
        require(Driver::get().memory.at(address).has_value());
        const TexelFormat format = texel_format(state.format, state.channels);
        require(bytes / format.size() <= ArrayLimits::linear);
        if (offset) *offset = past;
        state.resource = {};
        state.resource.resType = CU_RESOURCE_TYPE_LINEAR;
        state.resource.res.linear.devPtr = address - past;
        state.resource.res.linear.format = state.format;
        state.resource.res.linear.numChannels = state.channels;
        state.resource.res.linear.sizeInBytes = bytes + past;
        state.bound = true;
    });
}
CUPOLA_ALIAS(cuTexRefSetAddress, cuTexRefSetAddress_v2);

CUPOLA_API CUresult cuTexRefSetAddress2D_v3(CUtexref handle, const CUDA_ARRAY_DESCRIPTOR* shape,
                                            CUdeviceptr address, size_t pitch) {
    return set(handle, [&](State& state) {
        require(shape != nullptr);
        CUDA_RESOURCE_DESC resource{};
        resource.resType = CU_RESOURCE_TYPE_PITCH2D;
        resource.res.pitch2D = {address,      shape->Format, shape->NumChannels,
                                shape->Width, shape->Height, pitch};
        texel_format(shape->Format, shape->NumChannels);
        require(address % MemoryMap::alignment == 0);
        require(Driver::get().memory.at(address).has_value());
        state.resource = resource;
        state.format = shape->Format;
        state.channels = shape->NumChannels;
        state.bound = true;
    });
}
CUPOLA_ALIAS(cuTexRefSetAddress2D, cuTexRefSetAddress2D_v3);
CUPOLA_ALIAS(cuTexRefSetAddress2D_v2, cuTexRefSetAddress2D_v3);

CUPOLA_API CUresult cuTexRefGetAddress_v2(CUdeviceptr* out, CUtexref handle) {
    return get(
        handle,
        [&](const State& state) {
            if (holds(state, CU_RESOURCE_TYPE_LINEAR))
                *out = state.resource.res.linear.devPtr;
            else if (holds(state, CU_RESOURCE_TYPE_PITCH2D))
                *out = state.resource.res.pitch2D.devPtr;
            else
                fail(CUDA_ERROR_INVALID_VALUE);
        },
        out);
}
CUPOLA_ALIAS(cuTexRefGetAddress, cuTexRefGetAddress_v2);

CUPOLA_API CUresult cuTexRefGetArray(CUarray* out, CUtexref handle) {
    return get(
        handle,
        [&](const State& state) {
            require(holds(state, CU_RESOURCE_TYPE_ARRAY));
            *out = state.resource.res.array.hArray;
        },
        out);
}

CUPOLA_API CUresult cuTexRefGetMipmappedArray(CUmipmappedArray* out, CUtexref handle) {
    return get(
        handle,
        [&](const State& state) {
            require(holds(state, CU_RESOURCE_TYPE_MIPMAPPED_ARRAY));
            *out = state.resource.res.mipmap.hMipmappedArray;
        },
        out);
}

CUPOLA_API CUresult cuSurfRefSetArray(CUsurfref handle, CUarray array, unsigned int flags) {
    return entry([&] {
        require(flags == 0);
        const auto reference = reference_of(handle, true);
        reference->change([&](State& state) {
            State next = state;
            bind_array(next, array);
            make_surface(Driver::get(), next.resource);
            state = next;
        });
        return CUDA_SUCCESS;
    });
}
CUPOLA_API CUresult cuSurfRefGetArray(CUarray* out, CUsurfref handle) {
    return entry([&] {
        require(out);
        const State state = reference_of(handle, true)->state();
        require(state.bound);
        *out = state.resource.res.array.hArray;
        return CUDA_SUCCESS;
    });
}

// Sets how texels are read. A launch uses the settings at the time of the launch.

CUPOLA_API CUresult cuTexRefSetFormat(CUtexref handle, CUarray_format format, int channels) {
    return set(handle, [&](State& state) {
        require(channels > 0);
        texel_format(format, static_cast<unsigned>(channels));
        state.format = format;
        state.channels = static_cast<unsigned>(channels);
    });
}
CUPOLA_API CUresult cuTexRefGetFormat(CUarray_format* format, int* channels, CUtexref handle) {
    return get(
        handle,
        [&](const State& state) {
            *format = state.format;
            if (channels) *channels = static_cast<int>(state.channels);
        },
        format);
}

CUPOLA_API CUresult cuTexRefSetAddressMode(CUtexref handle, int axis, CUaddress_mode mode) {
    return set(handle, [&](State& state) {
        require(axis >= 0 && axis < 3);
        state.description.addressMode[axis] = mode;
    });
}
CUPOLA_API CUresult cuTexRefGetAddressMode(CUaddress_mode* out, CUtexref handle, int axis) {
    return get(
        handle,
        [&](const State& state) {
            require(axis >= 0 && axis < 3);
            *out = state.description.addressMode[axis];
        },
        out);
}

CUPOLA_API CUresult cuTexRefSetFilterMode(CUtexref handle, CUfilter_mode mode) {
    return set(handle, [&](State& state) { state.description.filterMode = mode; });
}
CUPOLA_API CUresult cuTexRefGetFilterMode(CUfilter_mode* out, CUtexref handle) {
    return get(
        handle, [&](const State& state) { *out = state.description.filterMode; }, out);
}

CUPOLA_API CUresult cuTexRefSetMipmapFilterMode(CUtexref handle, CUfilter_mode mode) {
    return set(handle, [&](State& state) { state.description.mipmapFilterMode = mode; });
}
CUPOLA_API CUresult cuTexRefGetMipmapFilterMode(CUfilter_mode* out, CUtexref handle) {
    return get(
        handle, [&](const State& state) { *out = state.description.mipmapFilterMode; }, out);
}

CUPOLA_API CUresult cuTexRefSetMipmapLevelBias(CUtexref handle, float bias) {
    return set(handle, [&](State& state) { state.description.mipmapLevelBias = bias; });
}
CUPOLA_API CUresult cuTexRefGetMipmapLevelBias(float* out, CUtexref handle) {
    return get(
        handle, [&](const State& state) { *out = state.description.mipmapLevelBias; }, out);
}

CUPOLA_API CUresult cuTexRefSetMipmapLevelClamp(CUtexref handle, float least, float most) {
    return set(handle, [&](State& state) {
        state.description.minMipmapLevelClamp = least;
        state.description.maxMipmapLevelClamp = most;
    });
}
CUPOLA_API CUresult cuTexRefGetMipmapLevelClamp(float* least, float* most, CUtexref handle) {
    return get(
        handle,
        [&](const State& state) {
            *least = state.description.minMipmapLevelClamp;
            *most = state.description.maxMipmapLevelClamp;
        },
        least, most);
}

CUPOLA_API CUresult cuTexRefSetMaxAnisotropy(CUtexref handle, unsigned int most) {
    return set(handle, [&](State& state) { state.description.maxAnisotropy = most; });
}
CUPOLA_API CUresult cuTexRefGetMaxAnisotropy(int* out, CUtexref handle) {
    return get(
        handle,
        [&](const State& state) { *out = static_cast<int>(state.description.maxAnisotropy); }, out);
}

CUPOLA_API CUresult cuTexRefSetBorderColor(CUtexref handle, float* colour) {
    return set(handle, [&](State& state) {
        require(colour != nullptr);
        std::copy_n(colour, 4, state.description.borderColor);
    });
}
CUPOLA_API CUresult cuTexRefGetBorderColor(float* out, CUtexref handle) {
    return get(
        handle, [&](const State& state) { std::copy_n(state.description.borderColor, 4, out); },
        out);
}

CUPOLA_API CUresult cuTexRefSetFlags(CUtexref handle, unsigned int flags) {
    return set(handle, [&](State& state) {
        require(flags < 2 * CU_TRSF_SEAMLESS_CUBEMAP);
        state.description.flags = flags;
    });
}
CUPOLA_API CUresult cuTexRefGetFlags(unsigned int* out, CUtexref handle) {
    return get(
        handle, [&](const State& state) { *out = state.description.flags; }, out);
}
