// csrc/cpu/emitted/outlined_access.hpp - loads and stores of kernels in parts, where lanes are away
// or there is no line: compiled once for all places, the handler's way with them.
#pragma once

#include "cpu/emitted/access.hpp"

namespace cupola::cpu::CUPOLA_ISA {

struct Place {
    std::uint32_t slot, code;
    std::int64_t offset, from;        // of the address, and of what has been looked at
    std::int32_t address, values[4];  // where these lie in the register file, if they are not there
};
// Always inlined: GCC 13.2 forgets that a function which it doesn't inline reads what it passes on
// by value, and drops what was stored there.
template <unsigned E>
CUPOLA_INLINE void put(const Lanes<E>& v, std::byte* r, std::int32_t at) {
    if (at != 0) *reinterpret_cast<Lanes<E>*>(r + at) = v;
}
template <class T>
CUPOLA_INLINE void put(Uniform<T> o, std::byte* r, std::int32_t at) {
    if (at != 0) spill_one(o.value, r, at);
}
inline const DecodedOp* by_handler(Warp& w, std::uint32_t mask, std::byte* r,
                                   const RuntimeCallbacks& s, std::uint32_t n) {
    const std::uint32_t running = w.mask;
    if (mask != running) s.set_mask(w, mask);
    const DecodedOp* const next = s.handlers[n](s.code + n, w, r);
    if (mask != running && next == s.code + n + 1) s.set_mask(w, running);
    return next;
}

// Operands are copies that what calls these has made: nobody's address is known beyond them. Of
// several elements a lane, which a compiler takes long for, there is the handler's way alone.
template <class T, Window W, std::int64_t S, class A, class... D>
[[gnu::noinline]] const DecodedOp* load_apart(Warp& w, std::uint32_t mask, std::byte* r,
                                              const RuntimeCallbacks& s, const Place& place,
                                              Near near, const A& address, D&... to) {
    if constexpr (sizeof...(D) == 1) {
        const DecodedOp* const behind = s.code + place.code + 1;
        if (near.holds) {
            load_some<T, S>(near, place.from, mask, to...);
            return behind;
        }
        if (load<T, W>(w, mask, place.slot, address, place.offset, to...)) return behind;
    }
    put(address, r, place.address);
    unsigned k = 0;
    (put(to, r, place.values[k++]), ...);
    const DecodedOp* const next = by_handler(w, mask, r, s, place.code);
    k = 0;
    ((to = *reinterpret_cast<const D*>(r + place.values[k++])), ...);
    return next;
}
template <class T, Window W, std::int64_t S, class A, class... V>
[[gnu::noinline]] const DecodedOp* store_apart(Warp& w, std::uint32_t mask, std::byte* r,
                                               const RuntimeCallbacks& s, const Place& place,
                                               Near near, const A& address, const V&... values) {
    if constexpr (sizeof...(V) == 1) {
        const DecodedOp* const behind = s.code + place.code + 1;
        if (near.holds) {
            store_some<T, S>(near, place.from, mask, values...);
            return behind;
        }
        if (store<T, W>(w, mask, place.slot, address, place.offset, values...)) return behind;
    }
    put(address, r, place.address);
    unsigned k = 0;
    (put(values, r, place.values[k++]), ...);
    return by_handler(w, mask, r, s, place.code);
}

}  // namespace cupola::cpu::CUPOLA_ISA
