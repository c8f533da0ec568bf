// csrc/cpu/api/event.cpp - cu* entry points: events.
#include "cpu/device/stream/event.hpp"

#include "cpu/api/handle.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/launch/capture.hpp"
#include "cpu/device/stream/pool.hpp"
#include "cpu/device/stream/shared_event.hpp"
#include "cpu/device/stream/stream.hpp"

using namespace cupola::cpu;

CUPOLA_API CUresult cuEventCreate(CUevent* out, unsigned int flags) {
    return entry([&] {
        constexpr unsigned known =
            CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
        require(out && !(flags & ~known));
        const auto& context = Context::usable();
        std::shared_ptr<SharedEvent> shared;
        if (flags & CU_EVENT_INTERPROCESS) {
            require(flags & CU_EVENT_DISABLE_TIMING);
            shared = SharedEvent::make();
        }
        auto event = std::make_shared<Event>(context, flags, std::move(shared));
        *out = event->handle();
        Driver::get().events.add(std::move(event));
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuEventDestroy_v2(CUevent handle) {
    return entry([&] {
        const auto event = Driver::get().events.remove(handle);
        require(handle != nullptr, CUDA_ERROR_INVALID_HANDLE);
        return event ? event->context()->error() : CUDA_ERROR_CONTEXT_IS_DESTROYED;
    });
}
CUPOLA_ALIAS(cuEventDestroy, cuEventDestroy_v2);

CUPOLA_API CUresult cuEventRecordWithFlags(CUevent handle, CUstream on, unsigned int flags) {
    return entry([&] {
        require(flags == CU_EVENT_RECORD_DEFAULT || flags == CU_EVENT_RECORD_EXTERNAL);
        const auto stream = stream_of(on);
        const auto event = event_of(handle);
        const auto capture = Capture::of(*stream);
        if (!capture) {
            require(flags == CU_EVENT_RECORD_DEFAULT, CUDA_ERROR_ILLEGAL_STATE);
            event->record(*stream);
        } else {
            require(stream->context() == event->context(), CUDA_ERROR_INVALID_HANDLE);
            if (flags == CU_EVENT_RECORD_EXTERNAL)
                capture->add(*stream, RecordNode{event});
            else
                capture->record(*stream, *event);
        }
        return CUDA_SUCCESS;
    });
}
CUPOLA_API CUresult cuEventRecordWithFlags_ptsz(CUevent event, CUstream stream,
                                                unsigned int flags) {
    return cuEventRecordWithFlags(event, Stream::per_thread(stream), flags);
}

CUPOLA_API CUresult cuEventRecord(CUevent event, CUstream stream) {
    return cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_DEFAULT);
}
CUPOLA_API CUresult cuEventRecord_ptsz(CUevent event, CUstream stream) {
    return cuEventRecord(event, Stream::per_thread(stream));
}

CUPOLA_API CUresult cuEventQuery(CUevent handle) {
    return entry([&] {
        const auto event = event_of(handle);
        event->context()->check();
        Capture::require_uncaptured(*event);
        Capture::forbid(Driver::get());
        if (!event->done()) return CUDA_ERROR_NOT_READY;
        return event->context()->error();
    });
}

CUPOLA_API CUresult cuEventSynchronize(CUevent handle) {
    return entry([&] {
        const auto event = event_of(handle);
        event->context()->check();
        Capture::require_uncaptured(*event);
        Capture::forbid(Driver::get());
        event->wait();
        event->context()->device().pool()->settle();
        return event->context()->error();
    });
}

CUPOLA_API CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
    return entry([&] {
        require(milliseconds, CUDA_ERROR_INVALID_HANDLE);
        const auto first = event_of(start), second = event_of(end);
        first->context()->check();
        for (const auto& event : {first, second})
            require(event->timed() || !event->captured().capture);
        Capture::require_uncaptured(*first);
        Capture::require_uncaptured(*second);
        return Event::elapsed(milliseconds, *first, *second);
    });
}
CUPOLA_ALIAS(cuEventElapsedTime, cuEventElapsedTime_v2);
