// csrc/cpu/emitted/atomics.hpp - atomics and shuffles of emitted code.
#pragma once

#include "cpu/emitted/access.hpp"

namespace cupola::cpu::CUPOLA_ISA {

// The elements of an operand: an array in `buffer`, or one value for all lanes.
template <class T>
struct Broadcast {
    T value;
    T operator[](unsigned) const { return value; }
};
template <class T>
CUPOLA_INLINE const T* elements_of(const Lanes<sizeof(T)>& v, T* buffer) {
    unpack(v, buffer);
    return buffer;
}
template <class T, class V>
CUPOLA_INLINE Broadcast<T> elements_of(Uniform<V> o, T*) {
    return {bit_cast<T>(o.value)};
}

// The value that changes no other value, of operations whose order does not matter.
template <ptx::Atomic Op, class T>
constexpr T neutral() {
    using A = ptx::Atomic;
    if constexpr (Op == A::min)
        return std::numeric_limits<T>::max();
    else if constexpr (Op == A::max)
        return std::numeric_limits<T>::lowest();
    else
        return Op == A::and_ ? static_cast<T>(-1) : T(0);
}

// Whether updates of several lanes at one address may be combined, to take the cache line once.
template <class A>
inline constexpr bool combines = false;
template <Window W, class M>
inline constexpr bool combines<AtomicAs<W, M, false>> =
    W == Window::flat&& std::is_integral_v<Lane<M::type>> &&
    (M::atomic == ptx::Atomic::add || M::atomic == ptx::Atomic::min ||
     M::atomic == ptx::Atomic::max || M::atomic == ptx::Atomic::and_ ||
     M::atomic == ptx::Atomic::or_ || M::atomic == ptx::Atomic::xor_);

// Sums up the values of each address in a table. A lane whose entry another address has taken makes
// its own update.
template <Window W, class M, class B>
CUPOLA_INLINE void combine_lanes(AtomicAs<W, M, false>, const Block& block, std::uint32_t mask,
                                 const LaneAddresses& addresses, B b) {
    using A = AtomicAs<W, M, false>;
    using T = typename A::T;
    const auto entry = [&](unsigned i) { return addresses.of[i] / sizeof(T) % lanes; };
    std::uint64_t owner[lanes];
    T value[lanes];
    std::uint32_t used = 0;
    for (std::uint32_t m = mask; m != 0; m &= m - 1) {
        const auto i = static_cast<unsigned>(__builtin_ctz(m));
        used |= std::uint32_t{1} << entry(i);
        owner[entry(i)] = addresses.of[i];
        value[entry(i)] = neutral<M::atomic, T>();
    }
    for (std::uint32_t m = mask; m != 0; m &= m - 1) {
        const auto i = static_cast<unsigned>(__builtin_ctz(m));
        T& sum = value[entry(i)];
        if (__builtin_expect(owner[entry(i)] == addresses.of[i], 1))
            sum = updated<M::atomic>(sum, T(b[i]));
        else
            A::one(block, addresses.of[i], i, b, b, static_cast<T*>(nullptr));
    }
    for (; used != 0; used &= used - 1) {
        const auto n = static_cast<unsigned>(__builtin_ctz(used));
        A::one(block, owner[n], n, value, value, static_cast<T*>(nullptr));
    }
}

// A is an instance of AtomicAs.
template <class A, Window W, class V, class B, class C>
[[gnu::noinline]] bool atomic_lanes(const Warp& w, std::uint32_t mask, std::uint32_t slot,
                                    const V* address, std::int64_t offset, B b, C c,
                                    typename A::T* d) {
    LaneAddresses addresses;
    if (!resolve_lanes<W>(w, mask, slot, address, offset, sizeof(typename A::T), true, addresses))
        return false;
    if constexpr (combines<A>) {
        combine_lanes(A{}, *w.block, mask, addresses, b);
        return true;
    } else if constexpr (W == Window::flat) {
        std::uint64_t any = 0;
        for (const std::uint64_t each : addresses.of) any |= each ^ addresses.of[0];
        if (any == 0) {
            A::all(*w.block, mask, addresses.of[0], b, c, d);
            return true;
        }
    }
    A::in_turn(
        *w.block, mask, [&](unsigned i) { return addresses.of[i]; }, b, c, d);
    return true;
}
template <class A, Window W, class X, class B, class C>
CUPOLA_INLINE bool atomic(const Warp& w, std::uint32_t mask, std::uint32_t slot, const X& address,
                          std::int64_t offset, const B& first, const C& second,
                          Lanes<sizeof(typename A::T)>& made) {
    using T = typename A::T;
    using V = OperandWord<X>;
    alignas(64) V x[lanes];
    alignas(64) T b[lanes], c[lanes], d[lanes];
    const auto left = elements_of<T>(first, b);
    const auto right = elements_of<T>(second, c);
    if constexpr (A::returns) unpack(made, d);
    if (W == Window::shared && mask == all_lanes &&
        check_shared(*w.block, mask, to_lanes<V>(address), offset, sizeof(T), x)) {
        for_each_word(x, [&, shared = w.block->shared](unsigned i, std::uint64_t at) {
            A::one(*w.block, shared + at, i, left, right, d);
        });
    } else {
        unpack(to_lanes<V>(address), x);
        if (!atomic_lanes<A, W>(w, mask, slot, x, offset, left, right, d)) return false;
    }
    if constexpr (A::returns) pack(d, made);
    return true;
}

// ---- shuffles -----------------------------------------------------------------------------

CUPOLA_INLINE void unpack_words(const Lanes<4>& from, std::uint32_t* to) { unpack(from, to); }
CUPOLA_INLINE void unpack_words(Uniform<std::uint32_t> from, std::uint32_t* to) {
    for (unsigned i = 0; i < lanes; ++i) to[i] = from.value;
}

// Whether a whole warp may run an operation at once: all lanes are members, or each is one of its
// own group, such as a tile of a block.
CUPOLA_INLINE bool are_members(Uniform<std::uint32_t> members) {
    return members.value == all_lanes;
}
CUPOLA_INLINE bool are_members(const Lanes<4>& members) {
    alignas(64) std::uint32_t x[lanes];
    unpack(members, x);
    std::uint32_t absent = 0;
    for (unsigned i = 0; i < lanes; ++i) absent |= ~x[i] & lane_bits.of[i];
    return absent == 0;
}

// The value of all lanes, if they have one.
CUPOLA_INLINE WarpUniform<std::uint32_t> common_value(Uniform<std::uint32_t> o) {
    return {o.value, true};
}
CUPOLA_INLINE WarpUniform<std::uint32_t> common_value(const Lanes<4>& o) {
    return match_uniform(o, all_lanes);
}

// Exchanges lane i of a vector with lane i ^ Bit.
template <unsigned Bit, class V, std::size_t... I>
CUPOLA_INLINE V exchange_lanes(V v, std::index_sequence<I...>) {
#if defined(__clang__)
    return __builtin_shufflevector(v, v, static_cast<int>(I ^ Bit)...);
#else
    return __builtin_shuffle(v, V{static_cast<std::uint32_t>(I ^ Bit)...});
#endif
}
template <std::size_t... K>
CUPOLA_INLINE void shuffle_butterfly(Lanes<4>& to, Lanes<4> from, std::uint32_t shift,
                                     std::index_sequence<K...>) {
    using V = VectorOfLanes<std::uint32_t, 4>;
    constexpr unsigned each = Lanes<4>::size / 4;
    constexpr std::make_index_sequence<each> elements;
    const auto exchanged = [&](std::size_t k) {
        auto v = V(from.v[k ^ shift / each]);
        if (shift & 1) v = exchange_lanes<1>(v, elements);
        if (shift & 2) v = exchange_lanes<2>(v, elements);
        if (each > 4 && (shift & 4)) v = exchange_lanes<4 % each>(v, elements);
        if (each > 8 && (shift & 8)) v = exchange_lanes<8 % each>(v, elements);
        return typename Lanes<4>::Vector(v);
    };
    to = {exchanged(K)...};
}
// The lanes whose source is in their segment, of `size` lanes, a power of two.
template <ptx::Mode M>
CUPOLA_INLINE std::uint32_t lanes_in_segment(std::uint32_t shift, std::uint32_t size) {
    if (shift >= size) return 0;
    const std::uint32_t segment = all_lanes >> (lanes - size);
    std::uint32_t valid = M == ptx::Mode::up ? segment & segment << shift : segment >> shift;
    for (; size < lanes; size *= 2) valid |= valid << size;
    return valid;
}
// Shuffles by one distance for all lanes, in segments of `size` lanes. Where that is not 32, M is
// not idx, and butterflies stay in a segment.
template <ptx::Mode M>
CUPOLA_INLINE std::uint32_t shuffle_by(Lanes<4>& to, const Lanes<4>& from, std::uint32_t shift,
                                       std::uint32_t size) {
    constexpr std::make_index_sequence<Lanes<4>::count> each;
    if constexpr (M == ptx::Mode::bfly) {
        shuffle_butterfly(to, from, shift, each);
        return all_lanes;
    } else {
        alignas(64) std::uint32_t values[2 * lanes];
        unpack(from, values);
        if constexpr (M == ptx::Mode::idx) {
            splat(values[shift], all_lanes, to);
            return all_lanes;
        } else {
            constexpr bool up = M == ptx::Mode::up;
            unpack(from, values + lanes);
            Lanes<4> moved;
            pack(values + (up ? lanes - shift : shift), moved);
            const std::uint32_t valid = lanes_in_segment<M>(shift, size);
            to = from;
            merge_vectors(each, moved, valid, to);
            return valid;
        }
    }
}

// Shuffles a whole warp. Returns the lanes whose source is in their segment.
template <ptx::Mode M, class A, class B, class C>
CUPOLA_INLINE std::uint32_t shuffle(Lanes<4>& to, A a, B b, C c) {
    constexpr std::uint32_t clamp = M == ptx::Mode::up ? 0 : 31;
    const auto shift = common_value(b), segment = common_value(c);
    // Bits of a lane's number that name its segment.
    const std::uint32_t distance = shift.value & 31, above = segment.value >> 8 & 31,
                        size = (31 & ~above) + 1;
    const bool stays = M == ptx::Mode::bfly  ? (distance & above) == 0
                       : M == ptx::Mode::idx ? above == 0
                                             : (size & (size - 1)) == 0;
    if (__builtin_expect(shift.holds && segment.holds && (segment.value & 31) == clamp && stays, 1))
        return shuffle_by<M>(to, to_lanes<std::uint32_t>(a), distance, size);
    alignas(64) std::uint32_t values[lanes], shifts[lanes], segments[lanes], made[lanes];
    unpack_words(a, values);
    unpack_words(b, shifts);
    unpack_words(c, segments);
    std::uint32_t valid = 0;
    for (unsigned i = 0; i < lanes; ++i) {
        const ShuffleSource source = shuffle_source<M>(i, shifts[i], segments[i]);
        made[i] = values[source.lane];
        valid |= std::uint32_t{source.valid} << i;
    }
    pack(made, to);
    return valid;
}

}  // namespace cupola::cpu::CUPOLA_ISA
