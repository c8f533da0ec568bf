// csrc/cpu/api/stream.cpp - cu* entry points: streams. `_ptsz` means the thread's own stream by 0.
#include "cpu/stream.hpp"

#include <algorithm>

#include "cpu/context.hpp"
#include "cpu/driver.hpp"
#include "cpu/event.hpp"
#include "cpu/pool.hpp"

using namespace cupola::cpu;

namespace {

constexpr int greatest_priority = -5;

CUresult create(CUstream* out, unsigned flags, int priority) {
    return entry([&] {
        require(out && (flags == CU_STREAM_DEFAULT || flags == CU_STREAM_NON_BLOCKING));
        const auto& context = Context::usable();
        auto stream = std::make_shared<Stream>(
            context, flags, std::clamp(priority, greatest_priority, 0), Stream::Kind::created);
        context->add(stream);
        *out = stream->handle();
        Driver::get().streams.add(std::move(stream));
        return CUDA_SUCCESS;
    });
}

// Runs a function of the program. It may be Python, which ends a thread by unwinding it when the
// interpreter is gone: nothing on the way may catch that.
template <class Call>
void call_host(Call&& call) {
    struct Inside {
        Inside() { in_host_function = true; }
        ~Inside() { in_host_function = false; }
    } inside;
    call();
}

template <class Body>
CUresult submit_host(CUstream handle, Body body) {
    auto operation = task(std::move(body));
    operation->host = true;
    Stream::from(handle)->submit(std::move(operation));
    return CUDA_SUCCESS;
}

template <class T, class Get>
CUresult get(CUstream handle, T* out, Get&& value) {
    return entry([&] {
        require(out);
        *out = value(*Stream::from(handle));
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

// What is queued still runs: the executor holds the stream until then.
CUPOLA_API CUresult cuStreamDestroy_v2(CUstream handle) {
    return entry([&] {
        Context::current();
        const auto stream = Driver::get().streams.remove(handle);
        return stream ? stream->context_pointer()->error() : CUDA_ERROR_INVALID_HANDLE;
    });
}
CUPOLA_ALIAS(cuStreamDestroy, cuStreamDestroy_v2);

CUPOLA_API CUresult cuStreamQuery(CUstream handle) {
    return entry([&] {
        const auto stream = Stream::from(handle);
        if (!stream->idle()) return CUDA_ERROR_NOT_READY;
        return stream->context_pointer()->error();
    });
}
CUPOLA_API CUresult cuStreamQuery_ptsz(CUstream stream) {
    return cuStreamQuery(Stream::per_thread(stream));
}

CUPOLA_API CUresult cuStreamSynchronize(CUstream handle) {
    return entry([&] {
        const auto stream = Stream::from(handle);
        stream->wait(stream->submitted());
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
        const auto stream = Stream::from(handle);
        Mark mark = Driver::get().events.get(event)->mark();
        if (!mark.stream || mark.stream == stream || mark.stream->done(mark.ticket))
            return CUDA_SUCCESS;
        auto wait = task([](CUresult) {});
        wait->waits.push_back(std::move(mark));
        stream->submit(std::move(wait));
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
        return submit_host(
            handle, [=](CUresult status) { call_host([&] { callback(handle, status, data); }); });
    });
}
CUPOLA_API CUresult cuStreamAddCallback_ptsz(CUstream stream, CUstreamCallback callback, void* data,
                                             unsigned int flags) {
    return cuStreamAddCallback(Stream::per_thread(stream), callback, data, flags);
}

// Unlike a callback, a host function is not called after an error.
CUPOLA_API CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
    return entry([&] {
        require(function);
        return submit_host(handle, [=](CUresult status) {
            if (status == CUDA_SUCCESS) call_host([&] { function(data); });
        });
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

// There are no green contexts here, so no stream has one.
CUPOLA_API CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext* context, CUgreenCtx* green) {
    if (green) *green = nullptr;
    return cuStreamGetCtx(stream, context);
}
CUPOLA_API CUresult cuStreamGetCtx_v2_ptsz(CUstream stream, CUcontext* context, CUgreenCtx* green) {
    return cuStreamGetCtx_v2(Stream::per_thread(stream), context, green);
}

// There are no graphs here yet, so nothing captures.
CUPOLA_API CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
    return get(stream, status, [](Stream&) { return CU_STREAM_CAPTURE_STATUS_NONE; });
}
CUPOLA_API CUresult cuStreamIsCapturing_ptsz(CUstream stream, CUstreamCaptureStatus* status) {
    return cuStreamIsCapturing(Stream::per_thread(stream), status);
}

// Managed memory is the host's own and needs no attaching; the arguments are checked.
CUPOLA_API CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr address, size_t length,
                                           unsigned int flags) {
    return entry([&] {
        const auto stream = Stream::from(handle);
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
