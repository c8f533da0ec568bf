// csrc/cpu/api/stream.cpp - cu* entry points: streams. With `_ptsz`, stream 0 is the per-thread
// stream.
#include "cpu/device/stream/stream.hpp"

#include <algorithm>

#include "cpu/api/handle.hpp"
#include "cpu/device/base/host_function.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/context/green_context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/launch/capture.hpp"
#include "cpu/device/stream/event.hpp"
#include "cpu/device/stream/pool.hpp"

using namespace cupola::cpu;

namespace {

CUresult create(CUstream* out, unsigned flags, int priority) {
    return entry([&] {
        require(out && (flags == CU_STREAM_DEFAULT || flags == CU_STREAM_NON_BLOCKING));
        const auto& context = Context::usable();
        auto stream = std::make_shared<Stream>(context, flags,
                                               std::clamp(priority, Stream::greatest_priority, 0),
                                               Stream::Kind::created);
        if (const auto& view = Context::stack().back().view)
            stream->green = Driver::get().green_contexts.find(view->green);
        stream->register_in_context();
        *out = stream->handle();
        Driver::get().streams.add(std::move(stream));
        return CUDA_SUCCESS;
    });
}

template <class T, class Get>
CUresult get(CUstream handle, T* out, Get&& value) {
    return entry([&] {
        require(out);
        *out = value(*stream_of(handle));
        return CUDA_SUCCESS;
    });
}

}  // namespace

CUPOLA_API CUresult cuStreamCreate(CUstream* stream, unsigned int flags) {
    return create(stream, flags, 0);
}

CUPOLA_API CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int priority) {
    return create(stream, flags, priority);
}

// Queued work still runs; the executor holds the stream until it is done.
CUPOLA_API CUresult cuStreamDestroy_v2(CUstream handle) {
    return entry([&] {
        Context::current();
        const auto found = Driver::get().streams.find(handle);
        require(!found || !found->green || found->green->alive(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        const auto stream = Driver::get().streams.remove(handle);
        if (stream) Capture::leave(*stream);
        return stream ? stream->context_pointer()->error() : CUDA_ERROR_INVALID_HANDLE;
    });
}
CUPOLA_ALIAS(cuStreamDestroy, cuStreamDestroy_v2);

CUPOLA_API CUresult cuStreamQuery(CUstream handle) {
    return entry([&] {
        const auto stream = stream_of(handle);
        Capture::forbid(*stream);
        Capture::forbid(Driver::get());
        if (!stream->poll_all()) return CUDA_ERROR_NOT_READY;
        return stream->context_pointer()->error();
    });
}
CUPOLA_API CUresult cuStreamQuery_ptsz(CUstream stream) {
    return cuStreamQuery(Stream::per_thread(stream));
}

CUPOLA_API CUresult cuStreamSynchronize(CUstream handle) {
    return entry([&] {
        const auto stream = stream_of(handle);
        Capture::forbid(*stream);
        Capture::forbid(Driver::get());
        stream->wait_all();
        stream->context_pointer()->device().pool()->settle();
        return stream->context_pointer()->error();
    });
}
CUPOLA_API CUresult cuStreamSynchronize_ptsz(CUstream stream) {
    return cuStreamSynchronize(Stream::per_thread(stream));
}

CUPOLA_API CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned int flags) {
    return entry([&] {
        require(flags == CU_EVENT_WAIT_DEFAULT || flags == CU_EVENT_WAIT_EXTERNAL);
        const auto stream = stream_of(handle);
        const auto what = event_of(event);
        const auto capture = Capture::of(*stream);
        if (capture && flags == CU_EVENT_WAIT_EXTERNAL) {
            capture->add(*stream, WaitNode{what});
            return CUDA_SUCCESS;
        }
        require(flags == CU_EVENT_WAIT_DEFAULT, CUDA_ERROR_ILLEGAL_STATE);
        if (capture || what->captured().capture) {
            Capture::wait(*stream, *what);
            return CUDA_SUCCESS;
        }
        if (auto wait = what->wait_operation(*stream)) stream->submit(std::move(wait));
        return CUDA_SUCCESS;
    });
}
CUPOLA_API CUresult cuStreamWaitEvent_ptsz(CUstream stream, CUevent event, unsigned int flags) {
    return cuStreamWaitEvent(Stream::per_thread(stream), event, flags);
}

CUPOLA_API CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void* data,
                                        unsigned int flags) {
    return entry([&] {
        require(callback && flags == 0);
        const auto stream = stream_of(handle);
        Capture::forbid(*stream);  // a callback, unlike a host function, cannot be a node
        auto operation =
            task([=](CUresult status) { call_host([&] { callback(handle, status, data); }); });
        operation->host = true;
        stream->submit(std::move(operation));
        return CUDA_SUCCESS;
    });
}
CUPOLA_API CUresult cuStreamAddCallback_ptsz(CUstream stream, CUstreamCallback callback, void* data,
                                             unsigned int flags) {
    return cuStreamAddCallback(Stream::per_thread(stream), callback, data, flags);
}

CUPOLA_API CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
    return entry([&] {
        require(function);
        const auto stream = stream_of(handle);
        if (const auto capture = Capture::of(*stream))
            capture->add(*stream, HostCall{function, data});
        else
            stream->submit(host_operation(function, data));
        return CUDA_SUCCESS;
    });
}
CUPOLA_API CUresult cuLaunchHostFunc_ptsz(CUstream stream, CUhostFn function, void* data) {
    return cuLaunchHostFunc(Stream::per_thread(stream), function, data);
}

CUPOLA_API CUresult cuStreamGetPriority(CUstream stream, int* priority) {
    return get(stream, priority, [](Stream& it) { return it.priority(); });
}
CUPOLA_API CUresult cuStreamGetPriority_ptsz(CUstream stream, int* priority) {
    return cuStreamGetPriority(Stream::per_thread(stream), priority);
}

CUPOLA_API CUresult cuStreamGetFlags(CUstream stream, unsigned int* flags) {
    return get(stream, flags, [](Stream& it) { return it.flags(); });
}
CUPOLA_API CUresult cuStreamGetFlags_ptsz(CUstream stream, unsigned int* flags) {
    return cuStreamGetFlags(Stream::per_thread(stream), flags);
}

CUPOLA_API CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
    return get(stream, id, [](Stream& it) { return it.id(); });
}
CUPOLA_API CUresult cuStreamGetId_ptsz(CUstream stream, unsigned long long* id) {
    return cuStreamGetId(Stream::per_thread(stream), id);
}

CUPOLA_API CUresult cuStreamGetDevice(CUstream stream, CUdevice* device) {
    return get(stream, device, [](Stream& it) { return it.context_pointer()->device().ordinal(); });
}
CUPOLA_API CUresult cuStreamGetDevice_ptsz(CUstream stream, CUdevice* device) {
    return cuStreamGetDevice(Stream::per_thread(stream), device);
}

CUPOLA_API CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
    return get(stream, context, [](Stream& it) { return it.context_pointer()->handle(); });
}
CUPOLA_API CUresult cuStreamGetCtx_ptsz(CUstream stream, CUcontext* context) {
    return cuStreamGetCtx(Stream::per_thread(stream), context);
}

// A stream of a green context has two contexts: the green one, and the primary context as its
// CUcontext.
CUPOLA_API CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext* context, CUgreenCtx* green) {
    return entry([&] {
        require(context);
        const auto stream = stream_of(handle);
        if (green) *green = stream->green ? stream->green->handle() : nullptr;
        *context = stream->context_pointer()->handle();
        return CUDA_SUCCESS;
    });
}
CUPOLA_API CUresult cuStreamGetCtx_v2_ptsz(CUstream stream, CUcontext* context, CUgreenCtx* green) {
    return cuStreamGetCtx_v2(Stream::per_thread(stream), context, green);
}

// Managed memory is host memory and needs no attaching; only the arguments are checked.
CUPOLA_API CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr address, size_t length,
                                           unsigned int flags) {
    return entry([&] {
        const auto stream = stream_of(handle);
        Capture::forbid(*stream);
        require(flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST ||
                flags == CU_MEM_ATTACH_SINGLE);
        const auto found = Driver::get().memory.at(address);
        require(found && found->kind == Allocation::Kind::managed && found->begin == address);
        require(length == 0 || length == found->size);
        require(flags != CU_MEM_ATTACH_SINGLE || stream->kind() != Stream::Kind::legacy);
        return CUDA_SUCCESS;
    });
}
CUPOLA_API CUresult cuStreamAttachMemAsync_ptsz(CUstream stream, CUdeviceptr address, size_t length,
                                                unsigned int flags) {
    return cuStreamAttachMemAsync(Stream::per_thread(stream), address, length, flags);
}
