// csrc/cpu/api/array.cpp - cu* entry points: arrays and mipmapped arrays.
#include "cpu/device/texture/array.hpp"

#include "cpu/api/handle.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"

using namespace cupola::cpu;

namespace {

CUresult create(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR& shape) {
    *out = Array::make(*Context::usable(), shape)->handle();
    return CUDA_SUCCESS;
}

}  // namespace

CUPOLA_API CUresult cuArrayCreate_v2(CUarray* out, const CUDA_ARRAY_DESCRIPTOR* it) {
    return entry([&] {
        require(out && it);
        return create(out, {it->Width, it->Height, 0, it->Format, it->NumChannels, 0});
    });
}
CUPOLA_ALIAS(cuArrayCreate, cuArrayCreate_v2);

CUPOLA_API CUresult cuArray3DCreate_v2(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* it) {
    return entry([&] {
        require(out && it);
        return create(out, *it);
    });
}
CUPOLA_ALIAS(cuArray3DCreate, cuArray3DCreate_v2);

CUPOLA_API CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* out, CUarray handle) {
    return entry([&] {
        require(out);
        const CUDA_ARRAY3D_DESCRIPTOR& shape = array_of(handle)->shape();
        *out = {shape.Width, shape.Height, shape.Format, shape.NumChannels};
        return CUDA_SUCCESS;
    });
}
CUPOLA_ALIAS(cuArrayGetDescriptor, cuArrayGetDescriptor_v2);

CUPOLA_API CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* out, CUarray handle) {
    return entry([&] {
        require(out);
        *out = array_of(handle)->shape();
        return CUDA_SUCCESS;
    });
}
CUPOLA_ALIAS(cuArray3DGetDescriptor, cuArray3DGetDescriptor_v2);

CUPOLA_API CUresult cuArrayDestroy(CUarray handle) {
    return entry([&] {
        const auto array = Driver::get().arrays.get(handle);
        // A level belongs to its mipmapped array, which must be destroyed instead.
        if (!array->level()) Driver::get().arrays.remove(handle);
        return CUDA_SUCCESS;
    });
}

// Only deferred-mapping arrays have memory requirements, and this device has none.
CUPOLA_API CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* out,
                                                 CUarray handle, CUdevice device) {
    return entry([&] {
        require(out);
        Driver::get().device(device);
        array_of(handle);
        return CUDA_ERROR_INVALID_VALUE;
    });
}

// This device has neither sparse nor multi-planar arrays.
CUPOLA_API CUresult cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES* out, CUarray handle) {
    return entry([&] {
        require(out);
        array_of(handle);
        return CUDA_ERROR_INVALID_VALUE;
    });
}
CUPOLA_API CUresult cuArrayGetPlane(CUarray* out, CUarray handle, unsigned int) {
    return entry([&] {
        require(out);
        array_of(handle);
        return CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_API CUresult cuMipmappedArrayCreate(CUmipmappedArray* out, const CUDA_ARRAY3D_DESCRIPTOR* it,
                                           unsigned int levels) {
    return entry([&] {
        require(out && it);
        *out = MipmappedArray::make(*Context::usable(), *it, levels)->handle();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMipmappedArrayGetLevel(CUarray* out, CUmipmappedArray handle,
                                             unsigned int level) {
    return entry([&] {
        require(out);
        const auto array = mipmapped_array_of(handle);
        require(level < array->levels().size());
        *out = array->levels()[level]->handle();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMipmappedArrayDestroy(CUmipmappedArray handle) {
    return entry([&] {
        Driver& driver = Driver::get();
        const auto array = driver.mipmapped_arrays.remove(handle);
        require(array != nullptr, CUDA_ERROR_INVALID_HANDLE);
        for (const auto& level : array->levels()) driver.arrays.remove(level.get());
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS* out,
                                                          CUmipmappedArray handle,
                                                          CUdevice device) {
    return entry([&] {
        require(out);
        Driver::get().device(device);
        mipmapped_array_of(handle);
        return CUDA_ERROR_INVALID_VALUE;
    });
}

CUPOLA_API CUresult cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES* out,
                                                        CUmipmappedArray handle) {
    return entry([&] {
        require(out);
        mipmapped_array_of(handle);
        return CUDA_ERROR_INVALID_VALUE;
    });
}
