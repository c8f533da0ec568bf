// csrc/cpu/api/context_work.cpp - cu* entry points: attach counts of contexts, their device
// resources, and events of all their work.
#include "cpu/api/handle.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/launch/capture.hpp"
#include "cpu/device/stream/event.hpp"
#include "cpu/device/stream/stream.hpp"

using namespace cupola::cpu;

// The context ends after one detach for its creation and one for each attach.
CUPOLA_API CUresult cuCtxAttach(CUcontext* out, unsigned int flags) {
    return entry([&] {
        require(out && flags == 0);
        const auto& context = Context::usable();
        context->attached.fetch_add(1);
        *out = context->handle();
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuCtxDetach(CUcontext handle) {
    return entry([&] {
        const auto context = context_of(handle);
        require(context == Context::current(), CUDA_ERROR_INVALID_CONTEXT);
        if (context->attached.load() > 0) {
            context->attached.fetch_sub(1);
            return CUDA_SUCCESS;
        }
        return cuCtxDestroy_v2(handle);
    });
}

// A context has all multiprocessors of its device.

CUPOLA_API CUresult cuDeviceGetExecAffinitySupport(int* supported, CUexecAffinityType,
                                                   CUdevice device) {
    return entry([&] {
        require(supported);
        Driver::get().device(device);
        *supported = 0;
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuCtxGetExecAffinity(CUexecAffinityParam* out, CUexecAffinityType type) {
    return entry([&] {
        require(out);
        require(type == CU_EXEC_AFFINITY_TYPE_SM_COUNT, CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
        *out = {};
        out->type = type;
        out->param.smCount.val =
            static_cast<unsigned>(Context::usable()->device().multiprocessors());
        return CUDA_SUCCESS;
    });
}

// Recorded in a stream that waits for all work of all other streams.
CUPOLA_API CUresult cuCtxRecordEvent(CUcontext handle, CUevent event) {
    return entry([&] {
        const auto what = event_of(event);
        const auto context = context_or_current(handle);
        context->check();
        require(what->context() == context.get(), CUDA_ERROR_INVALID_HANDLE);
        const auto behind =
            std::make_shared<Stream>(context, CU_STREAM_NON_BLOCKING, 0, Stream::Kind::created);
        auto all = task([](CUresult) {});
        for (auto& stream : context->streams()) {
            const auto ticket = stream->submitted();
            all->waits.push_back({std::move(stream), ticket});
        }
        behind->register_in_context();
        behind->submit(std::move(all));
        what->record(*behind);
        return CUDA_SUCCESS;
    });
}

// A new stream waits for the event, and all other streams wait for that stream.
CUPOLA_API CUresult cuCtxWaitEvent(CUcontext handle, CUevent event) {
    return entry([&] {
        const auto what = event_of(event);
        const auto context = context_or_current(handle);
        context->check();
        Capture::require_uncaptured(*what);
        Capture::forbid(*context);
        const auto gate =
            std::make_shared<Stream>(context, CU_STREAM_NON_BLOCKING, 0, Stream::Kind::created);
        auto wait = what->wait_operation(*gate);
        if (!wait) return CUDA_SUCCESS;  // the event is already done
        const auto ticket = gate->submit(std::move(wait));
        begin_behind(*context, {gate, ticket});
        return CUDA_SUCCESS;
    });
}
