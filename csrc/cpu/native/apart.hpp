// csrc/cpu/native/apart.hpp - loads and stores of kernels in parts, where lanes are away or there
// is no line: compiled once for all places, the handler's way with them.
#pragma once

#include "cpu/native/access.hpp"

namespace cupola::cpu::CUPOLA_ISA {

struct Place {
    std::uint32_t slot, code;
    std::int64_t offset, from;        // of the address, and of what has been looked at
    std::int32_t address, values[4];  // where these lie in the register file, if they are not there
};
template <unsigned E>
void put(Reads<E> o, std::byte* r, std::int32_t at) {
    spill(o.v, r, at);
}
template <class T>
void put(One<T> o, std::byte* r, std::int32_t at) {
    if (at != 0) spill_one(o.value, r, at);
}
inline const Code* by_handler(Warp& w, std::uint32_t mask, std::byte* r, const Services& s,
                              std::uint32_t n) {
    const std::uint32_t running = w.mask;
    if (mask != running) s.set_mask(w, mask);
    const Code* const next = s.handlers[n](s.code + n, w, r);
    if (mask != running && next == s.code + n + 1) s.set_mask(w, running);
    return next;
}

template <class T, Window W, std::int64_t S, std::size_t... K, class A, class... D>
[[gnu::noinline]] const Code* load_called(std::index_sequence<K...>, Warp& w, std::uint32_t mask,
                                          std::byte* r, const Services& s, const Place& place,
                                          Near near, A address, D... to) {
    const Code* const behind = s.code + place.code + 1;
    if (near.holds) {
        load_some<T, S>(near, place.from, mask, to.v...);
        return behind;
    }
    if (load<T, W>(w, mask, place.slot, address, place.offset, to.v...)) return behind;
    put(address, r, place.address);
    (spill(to.v, r, place.values[K]), ...);
    const Code* const next = by_handler(w, mask, r, s, place.code);
    (fill(to.v, r, place.values[K]), ...);
    return next;
}
template <class T, Window W, std::int64_t S, class A, class... D>
CUPOLA_INLINE const Code* load_apart(Warp& w, std::uint32_t mask, std::byte* r, const Services& s,
                                     const Place& place, Near near, A address, D&... to) {
    return load_called<T, W, S>(std::index_sequence_for<D...>(), w, mask, r, s, place, near,
                                Lent<A>(address).lend(),
                                Lent<Writes<true, sizeof(T)>>(out<true>(to)).lend()...);
}
template <class T, Window W, std::int64_t S, std::size_t... K, class A, class... V>
[[gnu::noinline]] const Code* store_called(std::index_sequence<K...>, Warp& w, std::uint32_t mask,
                                           std::byte* r, const Services& s, const Place& place,
                                           Near near, A address, V... values) {
    const Code* const behind = s.code + place.code + 1;
    if (near.holds) {
        store_some<T, S>(near, place.from, mask, values...);
        return behind;
    }
    if (store<T, W>(w, mask, place.slot, address, place.offset, values...)) return behind;
    put(address, r, place.address);
    (put(values, r, place.values[K]), ...);
    return by_handler(w, mask, r, s, place.code);
}
template <class T, Window W, std::int64_t S, class A, class... V>
CUPOLA_INLINE const Code* store_apart(Warp& w, std::uint32_t mask, std::byte* r, const Services& s,
                                      const Place& place, Near near, A address, V... values) {
    return store_called<T, W, S>(std::index_sequence_for<V...>(), w, mask, r, s, place, near,
                                 Lent<A>(address).lend(), Lent<V>(values).lend()...);
}

}  // namespace cupola::cpu::CUPOLA_ISA
