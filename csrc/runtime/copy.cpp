// csrc/runtime/copy.cpp - linear copies and fills, queued on a stream.
#include "runtime/copy.hpp"

#include "runtime/event.hpp"
#include "runtime/staging.hpp"

namespace cupola {
namespace {

std::string on(const Stream& stream) {
    return ", stream " + hex(reinterpret_cast<std::uintptr_t>(stream.handle));
}

}  // namespace

void log_copy(std::uint64_t to, std::uint64_t from, std::size_t bytes, int direction,
              const Stream& stream, const std::string& how) {
    const char* where = direction == CUPOLA_TO_DEVICE ? "to the device"
                        : direction == CUPOLA_TO_HOST ? "to the host"
                                                      : "on the device";
    log("copy " + std::to_string(bytes) + " bytes " + where + how + ", from " + hex(from) + " to " +
        hex(to) + on(stream));
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
    if (driver().debug()) log_copy(to, from, bytes, direction, stream);
    const Span span = span_of_copy(direction, bytes, stream);
    if (direction == CUPOLA_ON_DEVICE) {
        CUPOLA_CALL(cuMemcpyDtoDAsync, to, from, bytes, stream.handle);
    } else if (direction == CUPOLA_TO_DEVICE) {
        const void* host = required(reinterpret_cast<void*>(std::uintptr_t(from)), "from");
        if (!stage_to_device(to, host, bytes, stream))
            CUPOLA_CALL(cuMemcpyHtoDAsync, to, host, bytes, stream.handle);
    } else {
        void* host = required(reinterpret_cast<void*>(std::uintptr_t(to)), "to");
        if (!stage_to_host(host, from, bytes, stream))
            CUPOLA_CALL(cuMemcpyDtoHAsync, host, from, bytes, stream.handle);
    }
}

void fill_linear(std::uint64_t to, std::uint32_t value, int width, std::size_t count,
                 Stream& stream) {
    if (driver().debug())
        log("fill " + std::to_string(count) + " times " + std::to_string(width) + " bytes with " +
            hex(value) + ", at " + hex(to) + on(stream));
    const Span span(CUPOLA_PROFILE_FILL, "fill", &stream, count * static_cast<unsigned>(width));
    switch (width) {
        case 1:
            CUPOLA_CALL(cuMemsetD8Async, to, static_cast<unsigned char>(value), count,
                        stream.handle);
            break;
        case 2:
            CUPOLA_CALL(cuMemsetD16Async, to, static_cast<unsigned short>(value), count,
                        stream.handle);
            break;
        case 4:
            CUPOLA_CALL(cuMemsetD32Async, to, value, count, stream.handle);
            break;
        default:
            fail(CUPOLA_ERROR_VALUE,
                 "a fill's width is 1, 2 or 4 bytes, not " + std::to_string(width));
    }
}

}  // namespace cupola

using namespace cupola;

namespace {

// Nothing to do for zero bytes, whatever the addresses.
template <class Call>
int queue(size_t bytes, cupola_stream* stream, Call&& call) {
    return guard([&] {
        if (bytes == 0) return;
        Stream& s = stream_of(stream);
        Current current(s.context);
        call(s);
    });
}

// What is queued on `next` from now on waits for what is queued on `first`.
void order(Stream& first, Stream& next) {
    const Event mark(first.context, CU_EVENT_DISABLE_TIMING);
    {
        const Current current(first.context);
        CUPOLA_CALL(cuEventRecord, mark.handle, first.handle);
    }
    const Current current(next.context);
    CUPOLA_CALL(cuStreamWaitEvent, next.handle, mark.handle, 0);
}

std::uint64_t integer(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

}  // namespace

int cupola_copy_to_device(uint64_t to, const void* from, size_t bytes, cupola_stream* s) {
    return queue(bytes, s, [&](Stream& stream) {
        copy_linear(to, integer(from), bytes, CUPOLA_TO_DEVICE, stream);
    });
}

int cupola_copy_to_host(void* to, uint64_t from, size_t bytes, cupola_stream* s) {
    return queue(bytes, s, [&](Stream& stream) {
        copy_linear(integer(to), from, bytes, CUPOLA_TO_HOST, stream);
    });
}

int cupola_copy_on_device(uint64_t to, uint64_t from, size_t bytes, cupola_stream* s) {
    return queue(bytes, s,
                 [&](Stream& stream) { copy_linear(to, from, bytes, CUPOLA_ON_DEVICE, stream); });
}

int cupola_copy_between(uint64_t to, int to_device, uint64_t from, int from_device, size_t bytes,
                        cupola_stream* s) {
    return queue(bytes, s, [&](Stream& stream) {
        if (driver().debug())
            log("copy " + std::to_string(bytes) + " bytes between devices " +
                std::to_string(from_device) + " and " + std::to_string(to_device) + ", from " +
                hex(from) + " to " + hex(to) + on(stream));
        Context &target = context(to_device), &source = context(from_device);
        // No stream of one device is in order with those of another one.
        Stream* far = nullptr;
        if (&target != &source && !stream.flight.capturing())
            far = &current_stream(&target == &stream.context ? source : target);
        if (far) order(*far, stream);
        {
            const Span span(CUPOLA_PROFILE_ON_DEVICE, "copy between devices", &stream, bytes);
            CUPOLA_CALL(cuMemcpyPeerAsync, to, target.handle, from, source.handle, bytes,
                        stream.handle);
        }
        if (far) order(stream, *far);
    });
}

int cupola_fill(uint64_t to, uint32_t value, int width, size_t count, cupola_stream* s) {
    return queue(count, s, [&](Stream& stream) { fill_linear(to, value, width, count, stream); });
}

int cupola_address_device(uint64_t address, int* device) {
    return guard([&] {
        required(device, "device");
        int ordinal = -1;
        Current current(context(current_device()));  // a new thread has none
        CUresult code =
            driver().cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
        if (code != CUDA_ERROR_INVALID_VALUE) check(code, "cuPointerGetAttribute");
        *device = code == CUDA_SUCCESS ? ordinal : -1;
    });
}

int cupola_address_describe(uint64_t address, cupola_address_info* out) {
    return guard([&] { *required(out, "out") = describe_address(address); });
}
