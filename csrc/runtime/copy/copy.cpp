// csrc/runtime/copy/copy.cpp - linear copies and fills, queued on a stream.
#include "runtime/copy/copy.hpp"

#include "runtime/context/capture.hpp"
#include "runtime/context/device.hpp"
#include "runtime/context/event.hpp"
#include "runtime/context/work_observer.hpp"
#include "runtime/lifetime/capture_scope.hpp"
#include "runtime/memory/staging.hpp"

namespace cupola {
namespace {

std::string stream_text(const Stream& stream) {
    return ", stream " + hex(reinterpret_cast<std::uintptr_t>(stream.handle));
}

// Makes later work of `next` wait for the work queued on `first`.
void order(Stream& first, Stream& next) {
    const Event mark(first.context, CU_EVENT_DISABLE_TIMING);
    {
        const ContextScope current(first.context);
        CUPOLA_CALL(first.context.driver, cuEventRecord, mark.handle, first.handle);
    }
    const ContextScope current(next.context);
    CUPOLA_CALL(next.context.driver, cuStreamWaitEvent, next.handle, mark.handle, 0);
}

}  // namespace

void log_copy(std::uint64_t to, std::uint64_t from, std::size_t bytes, int direction,
              const Stream& stream, const std::string& how) {
    const char* where = direction == CUPOLA_TO_DEVICE ? "to the device"
                        : direction == CUPOLA_TO_HOST ? "to the host"
                                                      : "on the device";
    log("copy " + std::to_string(bytes) + " bytes " + where + how + ", from " + hex(from) + " to " +
        hex(to) + stream_text(stream));
}

Span span_of_copy(int direction, std::size_t bytes, const Stream& stream) {
    switch (direction) {
        case CUPOLA_TO_DEVICE:
            return {CUPOLA_PROFILE_TO_DEVICE, "copy to the device", &stream, bytes};
        case CUPOLA_TO_HOST:
            return {CUPOLA_PROFILE_TO_HOST, "copy to the host", &stream, bytes};
        default:
            return {CUPOLA_PROFILE_ON_DEVICE, "copy on the device", &stream, bytes};
    }
}

void copy_linear(std::uint64_t to, std::uint64_t from, std::size_t bytes, int direction,
                 Stream& stream) {
    Capture::require_contents(stream, {to, from});
    if (WorkObserver* observer = WorkObserver::of(stream.context.driver)) {
        if (direction != CUPOLA_ON_DEVICE)
            observer->refuse();
        else if (!observer->copy(to, from, bytes, stream))
            return;
    }
    if (stream.context.driver->debug()) log_copy(to, from, bytes, direction, stream);
    const Span span = span_of_copy(direction, bytes, stream);
    if (direction == CUPOLA_ON_DEVICE) {
        CUPOLA_CALL(stream.context.driver, cuMemcpyDtoDAsync, to, from, bytes, stream.handle);
    } else if (direction == CUPOLA_TO_DEVICE) {
        const void* host = check_not_null(reinterpret_cast<void*>(std::uintptr_t(from)), "from");
        if (!stage_to_device(to, host, bytes, stream))
            CUPOLA_CALL(stream.context.driver, cuMemcpyHtoDAsync, to, host, bytes, stream.handle);
    } else {
        void* host = check_not_null(reinterpret_cast<void*>(std::uintptr_t(to)), "to");
        if (!stage_to_host(host, from, bytes, stream))
            CUPOLA_CALL(stream.context.driver, cuMemcpyDtoHAsync, host, from, bytes, stream.handle);
    }
}

void fill_linear(std::uint64_t to, std::uint32_t value, int width, std::size_t count,
                 Stream& stream) {
    Capture::require_contents(stream, {to});
    if (WorkObserver* observer = WorkObserver::of(stream.context.driver))
        if (!observer->fill(to, value, width, count, stream)) return;
    if (stream.context.driver->debug())
        log("fill " + std::to_string(count) + " times " + std::to_string(width) + " bytes with " +
            hex(value) + ", at " + hex(to) + stream_text(stream));
    const Span span(CUPOLA_PROFILE_FILL, "fill", &stream, count * static_cast<unsigned>(width));
    switch (width) {
        case 1:
            CUPOLA_CALL(stream.context.driver, cuMemsetD8Async, to,
                        static_cast<unsigned char>(value), count, stream.handle);
            break;
        case 2:
            CUPOLA_CALL(stream.context.driver, cuMemsetD16Async, to,
                        static_cast<unsigned short>(value), count, stream.handle);
            break;
        case 4:
            CUPOLA_CALL(stream.context.driver, cuMemsetD32Async, to, value, count, stream.handle);
            break;
        default:
            fail(CUPOLA_ERROR_VALUE,
                 "a fill's width must be 1, 2 or 4 bytes, got " + std::to_string(width));
    }
}

namespace {

// The CPU device's memory is host memory. So a copy between it and another driver's device is a
// copy between the host and that device.
void copy_between_drivers(std::uint64_t to, Stream& target, std::uint64_t from, Stream& source,
                          std::size_t bytes) {
    for (const Stream* stream : {&target, &source})
        if (stream->flight.capturing())
            fail(CUPOLA_ERROR_VALUE, "a copy between " + device_text(source.context) + " and " +
                                         device_text(target.context) +
                                         " can't be captured: a graph has nodes of one driver");
    const bool from_host = source.context.driver->cpu;
    Stream& host = from_host ? source : target;
    Stream& device = from_host ? target : source;
    synchronize(host);  // queued work of this stream may write the source, or read the destination
    const ContextScope current(device.context);
    copy_linear(to, from, bytes, from_host ? CUPOLA_TO_DEVICE : CUPOLA_TO_HOST, device);
    synchronize(device);
}

// A capture refuses cuMemcpyPeerAsync, and a node needs access to the memory of pools.
void capture_between(std::uint64_t to, const Context& target, std::uint64_t from,
                     const Context& source, std::size_t bytes, Stream& stream) {
    const Context& here = stream.context;
    {
        const RelaxedCapture relaxed(here.driver);
        for (const Context* other : {&target, &source})
            if (other != &here) open_pool(*other, here, true);
    }
    const ContextScope current(here);
    const CUresult code = here.driver->cuMemcpyDtoDAsync(to, from, bytes, stream.handle);
    if (code != CUDA_SUCCESS)
        fail_driver(here.driver, code, "cuMemcpyDtoDAsync",
                    "a captured copy between " + device_text(source) + " and " +
                        device_text(target) + " needs access from " + device_text(here) +
                        " to the memory of both");
}

}  // namespace

void copy_between(std::uint64_t to, int to_device, std::uint64_t from, int from_device,
                  std::size_t bytes, Stream& stream) {
    Capture::require_contents(stream, {to, from});
    if (WorkObserver* observer = WorkObserver::of(stream.context.driver)) observer->refuse();
    if (stream.context.driver->debug())
        log("copy " + std::to_string(bytes) + " bytes between " + device_text(from_device) +
            " and " + device_text(to_device) + ", from " + hex(from) + " to " + hex(to) +
            stream_text(stream));
    Context &target = context(to_device), &source = context(from_device);
    if (!is_same_driver(target, source)) {
        const auto of = [&](Context& device) -> Stream& {
            return &stream.context == &device ? stream : current_stream(device);
        };
        return copy_between_drivers(to, of(target), from, of(source), bytes);
    }
    // Streams of different devices are not ordered with each other.
    Stream* far = nullptr;
    if (&target != &source && !stream.flight.capturing())
        far = &current_stream(&target == &stream.context ? source : target);
    if (far) Capture::require_usable(*far), order(*far, stream);
    {
        const Span span(CUPOLA_PROFILE_ON_DEVICE, "copy between devices", &stream, bytes);
        if (stream.flight.capturing()) {
            capture_between(to, target, from, source, bytes, stream);
        } else {
            CUPOLA_CALL(stream.context.driver, cuMemcpyPeerAsync, to, target.handle, from,
                        source.handle, bytes, stream.handle);
        }
    }
    if (far) order(stream, *far);
}

}  // namespace cupola
