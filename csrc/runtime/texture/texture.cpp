// csrc/runtime/texture/texture.cpp - creates textures and surfaces, and binds references to them.
#include "runtime/texture/texture.hpp"

#include <algorithm>

#include "runtime/lifetime/capture_scope.hpp"

namespace cupola {
namespace {

bool is_integer(int format) {
    return format != CUPOLA_TEXEL_FLOAT16 && format != CUPOLA_TEXEL_FLOAT32;
}

void check_sampling(const cupola_sampling& sampling) {
    for (const int mode : sampling.address)
        if (mode < CUPOLA_ADDRESS_WRAP || mode > CUPOLA_ADDRESS_BORDER)
            fail(CUPOLA_ERROR_VALUE, "unknown address mode " + std::to_string(mode));
}

void check_alignment(const Context& context, std::uint64_t value, CUdevice_attribute attribute,
                     const char* what) {
    const auto unit = static_cast<std::uint64_t>(std::max(context.attribute(attribute), 1));
    if (value % unit)
        fail(CUPOLA_ERROR_VALUE, std::string(what) + " is no multiple of " + std::to_string(unit) +
                                     " bytes, which textures of " + device_text(context) +
                                     " need: copy the elements to a CudaArray");
}

}  // namespace

Texture::Texture(Ref<CudaArray> array, const cupola_sampling& sampling)
    : context(array->context), sampling_(sampling), array_(std::move(array)) {
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array_->handle;
    create(resource);
}

Texture::Texture(Context& context, const cupola_texture_memory& memory,
                 const cupola_sampling& sampling)
    : context(context), sampling_(sampling), memory_(memory) {
    const unsigned texel = channel_bytes(memory.format) * memory.channels;
    check_channels(memory.channels);
    check_alignment(context, memory.address, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, "the address");
    CUDA_RESOURCE_DESC resource{};
    if (memory.height) {
        check_alignment(context, memory.pitch, CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT,
                        "the distance of rows");
        resource.resType = CU_RESOURCE_TYPE_PITCH2D;
        auto& to = resource.res.pitch2D;
        to.devPtr = memory.address;
        to.format = static_cast<CUarray_format>(memory.format);
        to.numChannels = memory.channels;
        to.width = memory.width;
        to.height = memory.height;
        to.pitchInBytes = memory.pitch;
    } else {
        resource.resType = CU_RESOURCE_TYPE_LINEAR;
        auto& to = resource.res.linear;
        to.devPtr = memory.address;
        to.format = static_cast<CUarray_format>(memory.format);
        to.numChannels = memory.channels;
        to.sizeInBytes = memory.width * texel;
    }
    held_memory_ = std::make_shared<RetainedObjects>();
    RetainedObject::hold({memory.address}, held_memory_);
    create(resource);
}

unsigned Texture::flags(int format) const {
    return (sampling_.normalized_coordinates ? CU_TRSF_NORMALIZED_COORDINATES : 0) |
           (!sampling_.normalized_values && is_integer(format) ? CU_TRSF_READ_AS_INTEGER : 0);
}

void Texture::create(const CUDA_RESOURCE_DESC& resource) {
    check_sampling(sampling_);
    ContextScope current(context);
    const RelaxedCapture relaxed(context.driver);
    CUDA_TEXTURE_DESC given{};
    for (int axis = 0; axis < 3; ++axis)
        given.addressMode[axis] = static_cast<CUaddress_mode>(sampling_.address[axis]);
    given.filterMode = sampling_.linear ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
    given.flags = flags(array_ ? array_->shape.format : memory_.format);
    std::copy(std::begin(sampling_.border), std::end(sampling_.border), given.borderColor);
    CUPOLA_CALL(context.driver, cuTexObjectCreate, &handle, &resource, &given, nullptr);
    register_range(handle, 1);
}

Texture::~Texture() {
    const Driver* d = context.driver.alive();
    if (!d || !handle) return;
    try {
        ContextScope current(context);
        const RelaxedCapture relaxed(context.driver, RelaxedCapture::any_library);
        if (wait_before_destroying(context)) d->cuTexObjectDestroy(handle);
    } catch (const Error&) {  // the context is lost, with the texture
    }
}

Surface::Surface(Ref<CudaArray> array) : context(array->context), array_(std::move(array)) {
    if (!(array_->shape.flags & CUPOLA_ARRAY_SURFACE))
        fail(CUPOLA_ERROR_VALUE, "a surface needs an array that was made for surfaces");
    ContextScope current(context);
    const RelaxedCapture relaxed(context.driver);
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array_->handle;
    CUPOLA_CALL(context.driver, cuSurfObjectCreate, &handle, &resource);
    register_range(handle, 1);
}

Surface::~Surface() {
    const Driver* d = context.driver.alive();
    if (!d || !handle) return;
    try {
        ContextScope current(context);
        const RelaxedCapture relaxed(context.driver, RelaxedCapture::any_library);
        if (wait_before_destroying(context)) d->cuSurfObjectDestroy(handle);
    } catch (const Error&) {
    }
}

CUtexref texture_reference(Module& module, const char* name) {
    const auto using_it = module.use();
    const auto call = module.context.driver->cuModuleGetTexRef;
    ContextScope current(module.context);
    CUtexref reference = nullptr;
    if (!call || !*name) return nullptr;
    const CUresult code = call(&reference, module.handle, name);
    if (code == CUDA_ERROR_NOT_FOUND || code == CUDA_ERROR_INVALID_VALUE) return nullptr;
    check(module.context.driver, code, "cuModuleGetTexRef");
    return reference;
}

void Texture::bind(Module& module, const char* name) const {
    require_same_driver(context, "the texture", module.context, "the module");
    const CUtexref to = texture_reference(module, name);
    if (!to)
        fail(CUPOLA_ERROR_NOT_FOUND, std::string("the module has no texture reference ") + name);
    ContextScope current(context);
    const Driver& d = context.driver;
    const int format = array_ ? array_->shape.format : memory_.format;
    const auto driver_format = static_cast<CUarray_format>(format);
    if (array_) {
        CUPOLA_CALL(d, cuTexRefSetArray, to, array_->handle, CU_TRSA_OVERRIDE_FORMAT);
    } else if (memory_.height) {
        CUDA_ARRAY_DESCRIPTOR given{};
        given.Width = memory_.width;
        given.Height = memory_.height;
        given.Format = driver_format;
        given.NumChannels = memory_.channels;
        CUPOLA_CALL(d, cuTexRefSetAddress2D, to, &given, memory_.address, memory_.pitch);
    } else {
        const std::size_t bytes = memory_.width * channel_bytes(format) * memory_.channels;
        CUPOLA_CALL(d, cuTexRefSetFormat, to, driver_format, static_cast<int>(memory_.channels));
        CUPOLA_CALL(d, cuTexRefSetAddress, nullptr, to, memory_.address, bytes);
    }
    for (int axis = 0; axis < 3; ++axis)
        CUPOLA_CALL(d, cuTexRefSetAddressMode, to, axis,
                    static_cast<CUaddress_mode>(sampling_.address[axis]));
    CUPOLA_CALL(d, cuTexRefSetFilterMode, to,
                sampling_.linear ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT);
    CUPOLA_CALL(d, cuTexRefSetFlags, to, flags(format));
    float border[4];
    std::copy(std::begin(sampling_.border), std::end(sampling_.border), border);
    CUPOLA_CALL(d, cuTexRefSetBorderColor, to, border);
}

void bind_surface(Module& module, const char* name, const CudaArray& array) {
    require_same_driver(array.context, "the array", module.context, "the module");
    const auto using_it = module.use();
    const auto call = module.context.driver->cuModuleGetSurfRef;
    ContextScope current(module.context);
    CUsurfref reference = nullptr;
    const CUresult code =
        call && *name ? call(&reference, module.handle, name) : CUDA_ERROR_NOT_FOUND;
    if (code == CUDA_ERROR_NOT_FOUND || code == CUDA_ERROR_INVALID_VALUE)
        fail(CUPOLA_ERROR_NOT_FOUND, std::string("the module has no surface reference ") + name);
    check(module.context.driver, code, "cuModuleGetSurfRef");
    CUPOLA_CALL(module.context.driver, cuSurfRefSetArray, reference, array.handle, 0);
}

}  // namespace cupola
