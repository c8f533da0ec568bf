// csrc/runtime/base/streaming.hpp - large copies whose result is not read soon.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace cupola {

// memcpy with non-temporal stores. The destination's cache lines are not read first, which saves a
// third of the traffic, and the caches keep their contents.
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
    _mm_sfence();  // the stores must be visible before the copy is reported as done
#endif
    std::memcpy(to, from, bytes);
}

}  // namespace cupola
