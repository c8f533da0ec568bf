// csrc/runtime/copy.cpp - copies and fills, queued on a stream.
#include "runtime/stream.hpp"

using namespace cupola;

namespace {

// Nothing to do for zero bytes, whatever the addresses.
template <class Call>
int queue(size_t bytes, cupola_stream* stream, Call&& call) {
    return guard([&] {
        if (bytes == 0) return;
        Stream& s = stream_of(stream);
        Current current(s.context);
        call(s.handle);
    });
}

}  // namespace

int cupola_copy_to_device(uint64_t to, const void* from, size_t bytes, cupola_stream* s) {
    return queue(bytes, s, [&](CUstream stream) {
        CUPOLA_CALL(cuMemcpyHtoDAsync, to, required(from, "from"), bytes, stream);
    });
}

int cupola_copy_to_host(void* to, uint64_t from, size_t bytes, cupola_stream* s) {
    return queue(bytes, s, [&](CUstream stream) {
        CUPOLA_CALL(cuMemcpyDtoHAsync, required(to, "to"), from, bytes, stream);
    });
}

int cupola_copy_on_device(uint64_t to, uint64_t from, size_t bytes, cupola_stream* s) {
    return queue(bytes, s,
                 [&](CUstream stream) { CUPOLA_CALL(cuMemcpyDtoDAsync, to, from, bytes, stream); });
}

int cupola_fill(uint64_t to, uint32_t value, int width, size_t count, cupola_stream* s) {
    return queue(count, s, [&](CUstream stream) {
        switch (width) {
            case 1:
                CUPOLA_CALL(cuMemsetD8Async, to, static_cast<unsigned char>(value), count, stream);
                break;
            case 2:
                CUPOLA_CALL(cuMemsetD16Async, to, static_cast<unsigned short>(value), count,
                            stream);
                break;
            case 4:
                CUPOLA_CALL(cuMemsetD32Async, to, value, count, stream);
                break;
            default:
                fail(CUPOLA_ERROR_VALUE,
                     "a fill's width is 1, 2 or 4 bytes, not " + std::to_string(width));
        }
    });
}

int cupola_address_device(uint64_t address, int* device) {
    return guard([&] {
        required(device, "device");
        int ordinal = -1;
        CUresult code =
            driver().cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
        if (code != CUDA_ERROR_INVALID_VALUE) check(code, "cuPointerGetAttribute");
        *device = code == CUDA_SUCCESS ? ordinal : -1;
    });
}
