// csrc/runtime/abi/copy.cpp - the functions of cupola/copy.h.
#include "cupola/copy.h"

#include "runtime/context/device.hpp"
#include "runtime/copy/copy.hpp"
#include "runtime/copy/strided_copy.hpp"

using namespace cupola;

namespace {

// A copy of zero bytes does nothing, whatever the addresses are.
template <class Call>
int queue(size_t bytes, cupola_stream* stream, Call&& call) {
    return guard([&] {
        if (bytes == 0) return;
        Stream& s = stream_of(stream);
        ContextScope current(s.context);
        call(s);
    });
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
        copy_between(to, to_device, from, from_device, bytes, stream);
    });
}

int cupola_fill(uint64_t to, uint32_t value, int width, size_t count, cupola_stream* s) {
    return queue(count, s, [&](Stream& stream) { fill_linear(to, value, width, count, stream); });
}

int cupola_copy_strided(const cupola_strided* to, const cupola_strided* from, const int64_t* shape,
                        int ndim, size_t itemsize, int direction, cupola_stream* s, int* done) {
    return guard([&] {
        check_not_null(to, "to");
        check_not_null(from, "from");
        check_not_null(done, "done");
        if (ndim > 0) check_not_null(shape, "shape");
        if (direction < CUPOLA_TO_DEVICE || direction > CUPOLA_ON_DEVICE)
            fail(CUPOLA_ERROR_VALUE, "unknown direction " + std::to_string(direction));
        *done = copy_strided(*to, *from, shape, ndim, itemsize, direction, stream_of(s));
    });
}

int cupola_fill_strided(const cupola_strided* to, const int64_t* shape, int ndim,
                        const void* element, size_t itemsize, cupola_stream* s) {
    return guard([&] {
        check_not_null(to, "to");
        if (ndim > 0) check_not_null(shape, "shape");
        const auto* bytes = static_cast<const unsigned char*>(check_not_null(element, "element"));
        fill_strided(*to, shape, ndim, bytes, itemsize, stream_of(s));
    });
}
