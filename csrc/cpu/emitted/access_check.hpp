// csrc/cpu/emitted/access_check.hpp - whether what lies along a line of addresses may be accessed:
// one check for a warp's accesses, or a block's.
#pragma once

#include "cpu/emitted/affine.hpp"

namespace cupola::cpu::CUPOLA_ISA {

inline constexpr unsigned half = lanes / 2;

// Whether `bytes` from an address of the window on may be followed; then where they lie.
template <Window W>
CUPOLA_INLINE bool reach(const Warp& w, std::uint32_t slot, std::uint64_t from, std::uint64_t bytes,
                         bool write, std::uint64_t& host) {
    const Block& b = *w.block;
    if constexpr (W == Window::shared) {
        host = b.shared + from;
        return from <= b.shared_bytes && b.shared_bytes - from >= bytes;
    } else {
        const Range& range = b.ranges[slot];
        host = from;
        return from >= range.begin && from <= range.end && range.end - from >= bytes &&
               (range.writable || !write);
    }
}

// Where what a block accesses along a line lies, in the order of the halves.
struct Near {
    std::uint64_t low, high;
    bool holds;
};
template <Window W, class V, std::int64_t S>
CUPOLA_INLINE Near near(const Warp& w, std::uint32_t slot, Line<V, S> line, std::int64_t offset,
                        std::uint64_t bytes, unsigned align, bool write) {
    const std::uint64_t a = static_cast<V>(line.low + static_cast<V>(offset)),
                        b = static_cast<V>(line.high + static_cast<V>(offset));
    const std::uint64_t first = a < b ? a : b, last = a < b ? b : a;
    std::uint64_t host = 0;
    // Addresses of 32 bits begin anew at the end.
    const bool holds = line.holds && (a | b) % align == 0 &&
                       last - first < std::uint64_t{1} << 40 &&
                       (sizeof(V) > 4 || last + bytes <= std::uint64_t{1} << 32) &&
                       reach<W>(w, slot, first, last - first + bytes, write, host);
    return {host - first + a, host - first + b, holds};
}
template <Window W, class V>
CUPOLA_INLINE Near near(const Warp& w, std::uint32_t slot, Uniform<V> address, std::int64_t offset,
                        std::uint64_t bytes, unsigned align, bool write) {
    return near<W>(w, slot, Line<V, 0>{address.value, address.value, true}, offset, bytes, align,
                   write);
}

// The same of a whole block, whose first thread's place is `low`; `bytes` are one thread's.
template <class V, std::int64_t S>
CUPOLA_INLINE Near near_all(const Warp& w, std::uint32_t slot, BlockAffine<V, S> line,
                            std::int64_t offset, std::uint64_t bytes, unsigned align, bool write) {
    const std::uint64_t first = line.first + static_cast<std::uint64_t>(offset),
                        last = line.last + static_cast<std::uint64_t>(offset);
    std::uint64_t host = 0;
    const bool holds = line.holds && first % align == 0 && first <= last &&
                       reach<Window::flat>(w, slot, first, last - first + bytes, write, host);
    return {host, host, holds};
}
template <class V>
CUPOLA_INLINE Near near_all(const Warp& w, std::uint32_t slot, Uniform<V> address,
                            std::int64_t offset, std::uint64_t bytes, unsigned align, bool write) {
    return near_all(w, slot, BlockAffine<V, 0>{address.value, address.value, true}, offset, bytes,
                    align, write);
}
template <std::int64_t S>
CUPOLA_INLINE Near near_warp(Near all, std::uint32_t from) {
    const std::uint64_t low = all.low + static_cast<std::uint64_t>(S) * from;
    return {low, low + static_cast<std::uint64_t>(S) * half, true};
}

// Fetches what is likely to be accessed soon. A warp has its whole turn before the next one, so
// that the memory's own prefetching sees no stream: in a loop the place is where it will be so many
// rounds on, elsewhere where warps to come will be.
inline constexpr std::uint32_t ahead_alone = 12;
CUPOLA_INLINE void fetch(Near near, std::uint64_t way) {
    __builtin_prefetch(reinterpret_cast<const void*>(near.low + way));
    __builtin_prefetch(reinterpret_cast<const void*>(near.high + way));
}
CUPOLA_INLINE void fetch_ahead(Near near, std::uint64_t& before) {
    const std::uint64_t way = ahead_alone * (near.low - before);
    before = near.low;
    fetch(near, way);
}
CUPOLA_INLINE void fetch_ahead(Near near) {
    constexpr std::uint64_t later = 2048;
    __builtin_prefetch(reinterpret_cast<const void*>(near.low + later), 1);
    __builtin_prefetch(reinterpret_cast<const void*>(near.high + later), 1);
}

}  // namespace cupola::cpu::CUPOLA_ISA
