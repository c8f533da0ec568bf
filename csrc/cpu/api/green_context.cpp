// csrc/cpu/api/green_context.cpp - cu* entry points: resources of devices, and green contexts.
#include "cpu/device/context/green_context.hpp"

#include <algorithm>

#include "cpu/api/handle.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/lifecycle/primary_context.hpp"
#include "cpu/device/stream/stream.hpp"

using namespace cupola::cpu;

namespace {

// The result of cuDevResourceGenerateDesc. A program cannot destroy it.
struct Description {
    Device& device;
    unsigned multiprocessors;
};

Registry<Description>& descriptions() {
    static auto* const all = new Registry<Description>;
    return *all;
}

std::shared_ptr<GreenContext> green_of(CUgreenCtx handle) {
    require(handle, CUDA_ERROR_INVALID_CONTEXT);
    return Driver::get().green_contexts.get(handle, CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

// The device that the resource names.
Device& device_of(const CUdevResource& resource) {
    for (const auto& device : Driver::get().devices)
        if (SmResource::made(resource, *device)) return *device;
    fail(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
}

void require_sm(CUdevResourceType type) {
    require(type == CU_DEV_RESOURCE_TYPE_SM, CUDA_ERROR_INVALID_RESOURCE_TYPE);
}

}  // namespace

CUPOLA_API CUresult cuDeviceGetDevResource(CUdevice ordinal, CUdevResource* out,
                                           CUdevResourceType type) {
    return entry([&] {
        const Device& device = Driver::get().device(ordinal);
        require(out);
        require_sm(type);
        *out = SmResource::of(device).written(device);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuCtxGetDevResource(CUcontext handle, CUdevResource* out,
                                        CUdevResourceType type) {
    return entry([&] {
        require(out);
        require(handle, CUDA_ERROR_INVALID_CONTEXT);
        const auto named = named_context(handle);
        const Device& device = named.context->device();
        require_sm(type);
        const auto green =
            named.view ? Driver::get().green_contexts.find(named.view->green) : nullptr;
        const unsigned all = SmResource::of(device).count;
        *out = SmResource{green ? green->multiprocessors() : all, true}.written(device);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuGreenCtxGetDevResource(CUgreenCtx handle, CUdevResource* out,
                                             CUdevResourceType type) {
    return entry([&] {
        const auto green = green_of(handle);
        require(out);
        require_sm(type);
        *out = SmResource{green->multiprocessors(), true}.written(green->device());
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuDevSmResourceSplitByCount(CUdevResource* out, unsigned int* groups,
                                                const CUdevResource* input,
                                                CUdevResource* remaining, unsigned int flags,
                                                unsigned int least) {
    return entry([&] {
        constexpr unsigned both = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING |
                                  CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE;
        require(groups && input && (flags & both) != both && (!out || *groups > 0));
        require_sm(input->type);
        const Device& device = device_of(*input);
        const SmResource whole = SmResource::read(*input, device);
        require(whole.whole && least <= whole.count, CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION);
        // Whole units; all multiprocessors where the last unit would be too large.
        const unsigned unit = SmResource::unit(device);
        const unsigned size = std::min((std::max(least, 1u) + unit - 1) / unit * unit, whole.count);
        const unsigned made = out ? std::min(*groups, whole.count / size) : whole.count / size;
        for (unsigned n = 0; out && n < made; ++n) out[n] = SmResource{size, false}.written(device);
        if (remaining) *remaining = SmResource{whole.count - made * size, false}.written(device);
        *groups = made;
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* out, CUdevResource* resources,
                                              unsigned int count) {
    return entry([&] {
        require(out && resources && count > 0);
        require_sm(resources[0].type);
        Device& device = device_of(resources[0]);
        unsigned sum = 0;
        for (unsigned n = 0; n < count; ++n) sum += SmResource::read(resources[n], device).count;
        sum = std::min(sum, SmResource::of(device).count);
        auto made = std::make_shared<Description>(Description{device, sum});
        *out = reinterpret_cast<CUdevResourceDesc>(made.get());
        descriptions().add(std::move(made));
        return CUDA_SUCCESS;
    });
}

// A green context without a descriptor has the whole device, as in NVIDIA's driver.
CUPOLA_API CUresult cuGreenCtxCreate(CUgreenCtx* out, CUdevResourceDesc handle, CUdevice ordinal,
                                     unsigned int flags) {
    return entry([&] {
        require(out && flags == CU_GREEN_CTX_DEFAULT_STREAM);
        Device& device = Driver::get().device(ordinal);
        unsigned count = SmResource::of(device).count;
        if (handle) {
            const auto description = descriptions().get(handle, CUDA_ERROR_INVALID_VALUE);
            require(&description->device == &device, CUDA_ERROR_INVALID_DEVICE);
            count = description->multiprocessors;
        }
        auto green = std::make_shared<GreenContext>(device, device.primary().retain(), count);
        *out = green->handle();
        Driver::get().green_contexts.add(std::move(green));
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuGreenCtxDestroy(CUgreenCtx handle) {
    return entry([&] {
        green_of(handle);
        const auto green = Driver::get().green_contexts.remove(handle);
        require(green != nullptr, CUDA_ERROR_CONTEXT_IS_DESTROYED);
        green->close();
        green->device().primary().release();
        return CUDA_SUCCESS;
    });
}

// A second handle for the primary context: both share memory and modules.
CUPOLA_API CUresult cuCtxFromGreenCtx(CUcontext* out, CUgreenCtx handle) {
    return entry([&] {
        const auto green = green_of(handle);
        require(out);
        *out = green->context_handle();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuGreenCtxGetId(CUgreenCtx handle, unsigned long long* id) {
    return entry([&] {
        const auto green = green_of(handle);
        require(id);
        *id = green->id();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuGreenCtxStreamCreate(CUstream* out, CUgreenCtx handle, unsigned int flags,
                                           int priority) {
    return entry([&] {
        const auto green = green_of(handle);
        require(out && flags == CU_STREAM_NON_BLOCKING);
        green->context()->check();
        auto stream = std::make_shared<Stream>(green->context(), flags,
                                               std::clamp(priority, Stream::greatest_priority, 0),
                                               Stream::Kind::created);
        stream->green = green;
        stream->register_in_context();
        *out = stream->handle();
        Driver::get().streams.add(std::move(stream));
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuStreamGetGreenCtx(CUstream handle, CUgreenCtx* out) {
    return entry([&] {
        require(out);
        const auto stream = stream_of(handle);
        *out = stream->green ? stream->green->handle() : nullptr;
        return CUDA_SUCCESS;
    });
}

// Includes all work of the device's primary context, not only the green context's.
CUPOLA_API CUresult cuGreenCtxRecordEvent(CUgreenCtx handle, CUevent event) {
    CUcontext context = nullptr;
    const CUresult found = cuCtxFromGreenCtx(&context, handle);
    return found == CUDA_SUCCESS ? cuCtxRecordEvent(context, event) : found;
}

CUPOLA_API CUresult cuGreenCtxWaitEvent(CUgreenCtx handle, CUevent event) {
    CUcontext context = nullptr;
    const CUresult found = cuCtxFromGreenCtx(&context, handle);
    return found == CUDA_SUCCESS ? cuCtxWaitEvent(context, event) : found;
}
