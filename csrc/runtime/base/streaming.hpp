// csrc/runtime/base/streaming.hpp - copies of much memory that is not looked at again soon.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace cupola {

// As memcpy, past the caches: what is written is not read before, which saves a third of the
// traffic, and pushes nothing else out.
inline void copy_past_caches(char* to, const char* from, std::size_t bytes) {
#if defined(__SSE2__)
    constexpr std::size_t line = 64, ahead = 16 * line;
    const std::size_t head = -reinterpret_cast<std::uintptr_t>(to) % line;
    if (bytes < head + line) {
        std::memcpy(to, from, bytes);
        return;
    }
    std::memcpy(to, from, head);
    to += head;
    from += head;
    bytes -= head;
    for (; bytes >= line; bytes -= line, to += line, from += line) {
        __builtin_prefetch(from + ahead);
        const auto* source = reinterpret_cast<const __m128i*>(from);
        auto* target = reinterpret_cast<__m128i*>(to);
        const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1),
                      c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
        _mm_stream_si128(target, a);
        _mm_stream_si128(target + 1, b);
        _mm_stream_si128(target + 2, c);
        _mm_stream_si128(target + 3, d);
    }
    _mm_sfence();  // before anybody is told that it is there
#endif
    std::memcpy(to, from, bytes);
}

}  // namespace cupola
