// csrc/cpu/emitted/access_check.hpp - one range check for all affine accesses of a warp or a block.
#pragma once

#include "cpu/emitted/row_pieces.hpp"

namespace cupola::cpu::CUPOLA_ISA {

inline constexpr unsigned half = lanes / 2;

// Whether `bytes` at an address of the window may be accessed. If so, `host` is their address on
// the host.
template <Window W>
CUPOLA_INLINE bool check_range(const Warp& w, std::uint32_t slot, std::uint64_t from,
                               std::uint64_t bytes, bool write, std::uint64_t& host) {
    const Block& b = *w.block;
    if constexpr (W == Window::shared) {
        const std::uint64_t offset = from - b.shared_window;
        host = b.shared + offset;
        return fits(offset, bytes, b.shared_bytes);
    } else {
        host = from;
        return b.ranges[slot].allows(from, bytes, write);
    }
}

// Host addresses of the first element of each half warp. `holds`: the access is affine and allowed.
struct CheckedAddress {
    std::uint64_t low, high;
    bool holds;
};
template <Window W, class V, std::int64_t S>
CUPOLA_INLINE CheckedAddress check_affine(const Warp& w, std::uint32_t slot, Affine<V, S> affine,
                                          std::int64_t offset, std::uint64_t bytes, unsigned align,
                                          bool write) {
    const std::uint64_t a = static_cast<V>(affine.low + static_cast<V>(offset)),
                        b = static_cast<V>(affine.high + static_cast<V>(offset));
    const std::uint64_t first = a < b ? a : b, last = a < b ? b : a;
    std::uint64_t host = 0;
    // 32-bit addresses must not wrap.
    const bool holds = affine.holds && (a | b) % align == 0 &&
                       last - first < std::uint64_t{1} << 40 &&
                       (sizeof(V) > 4 || last + bytes <= std::uint64_t{1} << 32) &&
                       check_range<W>(w, slot, first, last - first + bytes, write, host);
    return {host - first + a, host - first + b, holds};
}
template <Window W, template <class> class O, class V>
CUPOLA_INLINE CheckedAddress check_affine(const Warp& w, std::uint32_t slot, O<V> address,
                                          std::int64_t offset, std::uint64_t bytes, unsigned align,
                                          bool write) {
    return check_affine<W>(w, slot, Affine<V, 0>{address.value, address.value, holds(address)},
                           offset, bytes, align, write);
}

// The same check for a piece of a row. `low` is the address of the first thread, and `bytes`
// are those of one thread.
template <class V, std::int64_t S>
CUPOLA_INLINE CheckedAddress check_block_affine(const Warp& w, std::uint32_t slot,
                                                BlockAffine<V, S> affine, std::int64_t offset,
                                                std::uint64_t bytes, unsigned align, bool write) {
    const std::uint64_t first = affine.first + static_cast<std::uint64_t>(offset),
                        last = affine.last + static_cast<std::uint64_t>(offset);
    std::uint64_t host = 0;
    const bool holds = affine.holds && first % align == 0 && first <= last &&
                       check_range<Window::flat>(w, slot, first, last - first + bytes, write, host);
    return {host, host, holds};
}
template <class V>
CUPOLA_INLINE CheckedAddress check_block_affine(const Warp& w, std::uint32_t slot,
                                                Uniform<V> address, std::int64_t offset,
                                                std::uint64_t bytes, unsigned align, bool write) {
    return check_block_affine(w, slot, BlockAffine<V, 0>{address.value, address.value, true},
                              offset, bytes, align, write);
}
template <std::int64_t S>
CUPOLA_INLINE CheckedAddress warp_address(CheckedAddress all, std::uint32_t from) {
    const std::uint64_t low = all.low + static_cast<std::uint64_t>(S) * from;
    return {low, low + static_cast<std::uint64_t>(S) * half, true};
}

// The addresses that an access of a batch may read.
struct BatchRange {
    std::uint64_t begin, size;
    BatchRange(const Warp& w, std::uint32_t slot)
        : begin(w.block->ranges[slot].begin), size(w.block->ranges[slot].end - begin) {}
};
// The addresses of `size` threads, if they may read `Bytes` there.
template <std::int64_t S, unsigned Bytes, class V>
CUPOLA_INLINE CheckedAddress warp_address(BatchRange range, BlockAffine<V, S> affine,
                                          std::int64_t offset, std::uint32_t size) {
    const std::uint64_t from = affine.first + static_cast<std::uint64_t>(offset),
                        bytes = static_cast<std::uint64_t>(S) * (size - 1) + Bytes;
    const bool holds =
        from % Bytes == 0 && bytes <= range.size && from - range.begin <= range.size - bytes;
    return {from, from + static_cast<std::uint64_t>(S) * half, holds};
}

// Prefetches addresses that are likely to be accessed soon. A warp runs its whole time slice before
// the next warp, so the hardware prefetcher sees no stream. In a loop the distance is some
// iterations; elsewhere it is that of later warps.
inline constexpr std::uint32_t prefetch_distance = 12;
CUPOLA_INLINE void prefetch(CheckedAddress checked, std::uint64_t distance) {
    __builtin_prefetch(reinterpret_cast<const void*>(checked.low + distance));
    __builtin_prefetch(reinterpret_cast<const void*>(checked.high + distance));
}
CUPOLA_INLINE void prefetch_ahead(CheckedAddress checked, std::uint64_t& last_address) {
    const std::uint64_t distance = prefetch_distance * (checked.low - last_address);
    last_address = checked.low;
    prefetch(checked, distance);
}
CUPOLA_INLINE void prefetch_ahead(CheckedAddress checked) {
    constexpr std::uint64_t distance = 2048;
    __builtin_prefetch(reinterpret_cast<const void*>(checked.low + distance), 1);
    __builtin_prefetch(reinterpret_cast<const void*>(checked.high + distance), 1);
}

}  // namespace cupola::cpu::CUPOLA_ISA
