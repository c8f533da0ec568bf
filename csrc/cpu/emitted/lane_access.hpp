// csrc/cpu/emitted/lane_access.hpp - loads and stores lane by lane, at addresses that are not
// affine.
//
// Functions are compiled once for all accesses. `memory` has Count elements for each lane.
#pragma once

#include "cpu/emitted/access_check.hpp"
#include "cpu/emitted/vectors.hpp"

namespace cupola::cpu::CUPOLA_ISA {

// Host addresses of the active lanes' elements. An inactive lane has some allowed address.
struct LaneAddresses {
    alignas(64) std::uint64_t of[lanes];
    template <class T>
    T* at(unsigned lane, unsigned k = 0) const {
        return reinterpret_cast<T*>(of[lane]) + k;
    }
};
// Calls visit(i, word of lane i) for words of 4 or 8 bytes. It reads 8 bytes at a time, because
// loads dominate the time.
template <class V, class Visit>
CUPOLA_INLINE void for_each_word(const V* words, Visit visit) {
    for (unsigned i = 0; i < lanes; i += 8 / sizeof(V)) {
        std::uint64_t some;
        __builtin_memcpy(&some, words + i, sizeof some);
        visit(i, static_cast<V>(some));
        if constexpr (sizeof(V) == 4) visit(i + 1, some >> 32);
    }
}
// Whether the active lanes may access `bytes` at their offsets in shared memory. Writes the
// offsets, and 0 for inactive lanes. Shared memory begins at offset 0, so only the upper bound is
// tested.
template <unsigned E, std::size_t... K>
CUPOLA_INLINE bool check_shared_vectors(std::index_sequence<K...>, std::uint32_t mask,
                                        const Lanes<E>& address, Bytes<E> offset, Bytes<E> last,
                                        unsigned bytes, Bytes<E>* offsets) {
    using V = VectorOfLanes<Bytes<E>, E>;
    V here[] = {(V(address.v[K]) + offset)...};
    if (mask != all_lanes) ((here[K] &= V(expand_mask<E, K>(mask))), ...);
    (write_vector_at(offsets + K * sizeof(V) / E, here[K]), ...);
    return is_zero(((V(here[K] > last) | (here[K] & Bytes<E>{bytes - 1})) | ...));
}
template <unsigned E>
CUPOLA_INLINE bool check_shared(const Block& block, std::uint32_t mask, const Lanes<E>& address,
                                std::int64_t offset, unsigned bytes, Bytes<E>* offsets) {
    if (block.shared_bytes < bytes) return false;
    return check_shared_vectors(
        typename Lanes<E>::Each(), mask, address,
        static_cast<Bytes<E>>(offset) - static_cast<Bytes<E>>(block.shared_window),
        static_cast<Bytes<E>>(block.shared_bytes - bytes), bytes, offsets);
}
template <class V>
CUPOLA_INLINE bool check_shared(const Block& block, std::uint32_t mask, const V* address,
                                std::int64_t offset, unsigned bytes, V* offsets) {
    Lanes<sizeof(V)> all;
    pack(address, all);
    return check_shared(block, mask, all, offset, bytes, offsets);
}
template <class V>
CUPOLA_INLINE bool resolve_shared(const Block& block, std::uint32_t mask, const V* address,
                                  unsigned bytes, LaneAddresses& addresses) {
    alignas(64) V here[lanes];
    if (!check_shared(block, mask, address, 0, bytes, here)) return false;
    for (unsigned i = 0; i < lanes; ++i) addresses.of[i] = block.shared + here[i];
    return true;
}
template <Window W, class V>
CUPOLA_INLINE bool resolve_lanes(const Warp& w, std::uint32_t mask, std::uint32_t slot,
                                 const V* address, std::int64_t offset, unsigned bytes, bool write,
                                 LaneAddresses& addresses) {
    alignas(64) V x[lanes], here[lanes], first[lanes];
    for (unsigned i = 0; i < lanes; ++i) x[i] = static_cast<V>(address[i] + static_cast<V>(offset));
    if constexpr (W == Window::shared) return resolve_shared(*w.block, mask, x, bytes, addresses);
    const Range& range = w.block->ranges[slot];
    if (range.end - range.begin < bytes || (write && !range.writable)) return false;
    const V base = x[__builtin_ctz(mask)];
    for (auto& each : first) each = base;
    select(mask, x, first, here);
    // Bit 63 tells that an address is below the range or above its last element.
    const std::uint64_t begin = range.begin, last = range.end - begin - bytes;
    std::uint64_t outside = 0, bits = 0;
    for (unsigned i = 0; i < lanes; ++i) {
        const std::uint64_t distance = std::uint64_t{here[i]} - begin;
        outside |= distance | (last - distance);
        bits |= here[i];
        addresses.of[i] = here[i];
    }
    return outside >> 63 == 0 && bits % bytes == 0;
}

// Whether all lanes may read `bytes` at their addresses.
template <std::size_t... K>
CUPOLA_INLINE bool may_read_lanes(std::index_sequence<K...>, const Range& range,
                                  const std::uint64_t* address, std::uint64_t offset,
                                  std::uint64_t bytes) {
    using V = VectorOfLanes<std::uint64_t, 8>;
    if (range.end - range.begin < bytes) return false;
    const std::uint64_t last = range.end - range.begin - bytes;
    const V at[] = {(V(read_vector<V>(address + K * (sizeof(V) / 8))) + offset)...};
    // Bit 63 tells that an address is below the range or above its last element.
    const V outside = (((at[K] - range.begin) | (last - (at[K] - range.begin))) | ...);
    return is_zero((outside & std::uint64_t{1} << 63) | ((at[K] | ...) & (bytes - 1)));
}
template <class T, std::size_t... I>
CUPOLA_INLINE auto gather_vector(std::index_sequence<I...>, const std::uint64_t* address,
                                 std::uint64_t offset) {
    return VectorOfLanes<T, sizeof(T)>{fetch<T>(address[I] + offset)...};
}
// Makes vectors of scalars: a load of several stores would have to wait for them.
template <class T, std::size_t... K>
CUPOLA_INLINE void gather_vectors(std::index_sequence<K...>, const std::uint64_t* address,
                                  std::uint64_t offset, T* memory) {
    constexpr unsigned each = Lanes<sizeof(T)>::size / sizeof(T);
    (write_vector_at(memory + K * each, gather_vector<T>(std::make_index_sequence<each>(),
                                                         address + K * each, offset)),
     ...);
}
// Elements at 64-bit addresses outside of shared memory.
template <class T>
CUPOLA_INLINE bool gather(const Warp& w, std::uint32_t mask, std::uint32_t slot,
                          const std::uint64_t* address, std::uint64_t offset, T* memory) {
    alignas(64) std::uint64_t first[lanes], active[lanes];
    if (mask != all_lanes) {
        for (auto& each : first) each = address[__builtin_ctz(mask)];
        select(mask, address, first, active);
        address = active;
    }
    if (!may_read_lanes(Lanes<8>::Each(), w.block->ranges[slot], address, offset, sizeof(T)))
        return false;
    gather_vectors<T>(typename Lanes<sizeof(T)>::Each(), address, offset, memory);
    return true;
}

template <class T, Window W, unsigned Count, class V>
[[gnu::noinline]] bool load_lanes(const Warp& w, std::uint32_t mask, std::uint32_t slot,
                                  const V* address, std::int64_t offset, T* memory) {
    constexpr unsigned bytes = Count * sizeof(T);
    if constexpr (W == Window::shared) {
        alignas(64) V here[lanes];
        if (!check_shared(*w.block, mask, address, offset, bytes, here)) return false;
        for_each_word(here, [shared = w.block->shared, memory](unsigned i, std::uint64_t at) {
            __builtin_memcpy(memory + i * Count, reinterpret_cast<const void*>(shared + at), bytes);
        });
        return true;
    }
    if constexpr (W != Window::shared && sizeof(V) == 8 && Count == 1)
        return gather<T>(w, mask, slot, address, static_cast<std::uint64_t>(offset), memory);
    LaneAddresses addresses;
    if (!resolve_lanes<W>(w, mask, slot, address, offset, bytes, false, addresses)) return false;
    for (unsigned k = 0; k < Count; ++k) {
        CUPOLA_UNROLL
        for (unsigned i = 0; i < lanes; ++i) memory[i * Count + k] = *addresses.at<const T>(i, k);
    }
    return true;
}
template <class T, unsigned Count, class V>
CUPOLA_INLINE bool store_shared(const Block& block, const V* address, std::int64_t offset,
                                const T* memory) {
    constexpr unsigned bytes = Count * sizeof(T);
    alignas(64) V here[lanes];
    if (!check_shared(block, all_lanes, address, offset, bytes, here)) return false;
    for_each_word(here, [shared = block.shared, memory](unsigned i, std::uint64_t at) {
        __builtin_memcpy(reinterpret_cast<void*>(shared + at), memory + i * Count, bytes);
    });
    return true;
}
template <class T, Window W, unsigned Count, class V>
[[gnu::noinline]] bool store_lanes(const Warp& w, std::uint32_t mask, std::uint32_t slot,
                                   const V* address, std::int64_t offset, const T* memory) {
    if constexpr (W == Window::shared)
        if (mask == all_lanes) return store_shared<T, Count>(*w.block, address, offset, memory);
    LaneAddresses addresses;
    if (!resolve_lanes<W>(w, mask, slot, address, offset, Count * sizeof(T), true, addresses))
        return false;
    const auto store_lane = [&](unsigned i) {
        for (unsigned k = 0; k < Count; ++k) *addresses.at<T>(i, k) = memory[i * Count + k];
    };
    if (mask == all_lanes) {
        CUPOLA_UNROLL
        for (unsigned i = 0; i < lanes; ++i) store_lane(i);
        return true;
    }
    for (std::uint32_t m = mask; m != 0; m &= m - 1)
        store_lane(static_cast<unsigned>(__builtin_ctz(m)));
    return true;
}

}  // namespace cupola::cpu::CUPOLA_ISA
