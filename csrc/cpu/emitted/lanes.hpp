// csrc/cpu/emitted/lanes.hpp - what printed code is made of: registers of 32 lanes in local
// variables, and the table's functions of one lane applied to them.
#pragma once

#include "cpu/emitted/rows.hpp"
#include "cpu/interpreter/block_barrier.hpp"
#include "cpu/interpreter/machine_code.hpp"

#define CUPOLA_INLINE [[gnu::always_inline]] inline

namespace cupola::cpu::CUPOLA_ISA {

// 32 lanes of E bytes each. Arrays of lanes would stay in memory across a loop; vectors need not.
template <unsigned E>
struct Lanes {
    static constexpr unsigned size = lanes * E < vector_bytes ? lanes * E : vector_bytes;
    static constexpr unsigned count = lanes * E / size;
    using Vector __attribute__((vector_size(size))) = std::uint8_t;
    Vector v[count];
};

template <class T>
CUPOLA_INLINE void spread(const Lanes<sizeof(T)>& from, T* to) {
    using L = Lanes<sizeof(T)>;
    for (unsigned k = 0; k < L::count; ++k)
        __builtin_memcpy(reinterpret_cast<std::byte*>(to) + k * L::size, &from.v[k], L::size);
}
template <class T>
CUPOLA_INLINE void pack(const T* from, Lanes<sizeof(T)>& to) {
    using L = Lanes<sizeof(T)>;
    for (unsigned k = 0; k < L::count; ++k)
        __builtin_memcpy(&to.v[k], reinterpret_cast<const std::byte*>(from) + k * L::size, L::size);
}

template <unsigned E>
CUPOLA_INLINE bool is_zero(const Lanes<E>& all) {
    auto any = all.v[0];
    for (unsigned k = 1; k < Lanes<E>::count; ++k) any |= all.v[k];
    return is_zero(any);
}

// ---- warps --------------------------------------------------------------------------------

// Whether the running lanes are all that the warp has, and nobody cares that they exit: then it
// has ended.
CUPOLA_INLINE bool ends_whole(Warp& w, std::uint32_t mask) {
    Block& b = *w.block;
    if (!is_whole(w, mask) || b.awaited) return false;
    w.live = w.mask = 0;
    w.status = Status::done;
    b.live_threads -= count_lanes(mask);
    --b.live_warps;
    return true;
}

// Compiled once, as they are rare: where lanes go who come to a place behind which others wait, or
// whose turn is over; and where those go on who run first when lanes part.
[[gnu::noinline, gnu::cold]] inline const DecodedOp* onward(Warp& w, const DecodedOp* next,
                                                            const RuntimeCallbacks& s) {
    if (!(next < w.limit)) next = s.arrive(w, next);
    return w.budget < 0 ? s.end_time_slice(w, next) : next;
}
[[gnu::noinline]] inline const DecodedOp* parted(Warp& w, std::uint32_t taken,
                                                 const DecodedOp* first, const DecodedOp* second,
                                                 std::int32_t cost, const RuntimeCallbacks& s) {
    const DecodedOp* const next = diverge(w, taken, first, second, s.arrive);
    return (w.budget -= cost) < 0 ? s.end_time_slice(w, next) : next;
}

// The warp behind it, or the first one behind the last, where that can have its turn at once: from
// an entry on, with nobody who would be ready elsewhere (though some may wait).
CUPOLA_INLINE Warp* following(Warp* w, const RuntimeCallbacks& s, std::uint32_t& at) {
    const Block& b = *w->block;
    const bool last = w->index + 1u >= b.warp_count;
    if (last && !b.alone) return nullptr;
    Warp* const next = last ? w - w->index : w + 1;
    if (next->status != Status::yielded || next->ready_count != 0 || next->wake != 0)
        return nullptr;
    at = static_cast<std::uint32_t>(next->resume.pc - s.code);
    if (s.entry[at] == 0) return nullptr;
    mask_lanes(*next, next->resume.mask);
    update_reconvergence_pc(*next);
    next->status = Status::ready;
    next->block->at_work = next;
    return next;
}

// ---- the register file --------------------------------------------------------------------

// Uniform value for all lanes.
template <class T>
CUPOLA_INLINE void fill_one(T& u, const std::byte* r, int offset) {
    __builtin_memcpy(&u, r + offset, sizeof u);
}
template <class T>
CUPOLA_INLINE void spill_one(T u, std::byte* r, int offset) {
    T* const to = reinterpret_cast<T*>(r + offset);
    for (unsigned i = 0; i < lanes; ++i) to[i] = u;
}

// ---- operands -----------------------------------------------------------------------------

// As printed code writes them: registers as they are, by reference. (A compiler looks long for what
// a variable holds where an object has a reference to it.) A value of all lanes is a plain unsigned
// integer of its width.
template <class T>
struct Uniform {
    T value;
};
template <class T>
CUPOLA_INLINE Uniform<T> one(T value) {
    return {value};
}
template <class O>
struct OperandWordOf;
template <unsigned E>
struct OperandWordOf<Lanes<E>> {
    using type = Bytes<E>;
};
template <class T>
struct OperandWordOf<Uniform<T>> {
    using type = T;
};
template <class O>
using OperandWord = typename OperandWordOf<O>::type;
struct Predicate {
    std::uint32_t bits;
};
CUPOLA_INLINE Predicate predicate(std::uint32_t bits) { return {bits}; }
template <bool Masked, unsigned E>
struct Writes {
    Lanes<E>& v;
};
template <bool Masked>
struct WritesBits {
    std::uint32_t &p, &q;
    bool both;
};
template <bool Masked>
CUPOLA_INLINE WritesBits<Masked> bits(std::uint32_t& p) {
    return {p, p, false};
}
template <bool Masked>
CUPOLA_INLINE WritesBits<Masked> bits(std::uint32_t& p, std::uint32_t& q) {
    return {p, q, true};
}
// A result, as what it is written by.
template <bool Masked, unsigned E>
CUPOLA_INLINE Writes<Masked, E> written(Lanes<E>& v) {
    return {v};
}
template <bool Masked>
CUPOLA_INLINE WritesBits<Masked> written(std::uint32_t& p) {
    return {p, p, false};
}
template <bool, bool Masked>
CUPOLA_INLINE const WritesBits<Masked>& written(const WritesBits<Masked>& to) {
    return to;
}
template <bool Masked>
CUPOLA_INLINE void write_bits(const WritesBits<Masked>& to, std::uint32_t mask,
                              std::uint32_t made) {
    if (to.both) to.q = Masked ? (to.q & ~mask) | (~made & mask) : ~made;
    to.p = Masked ? (to.p & ~mask) | (made & mask) : made;
}
struct Number {
    std::uint64_t value;
};
CUPOLA_INLINE Number number(std::uint64_t value) { return {value}; }

// ---- operands of what is called --------------------------------------------------------------

// What is called has its operands in memory; where it was called from they need not be.
template <class O>
struct SpilledOperand {
    O operand;
    explicit SpilledOperand(const O& o) : operand(o) {}
    const O& lend() const { return operand; }
};
template <bool Masked>
struct SpilledOperand<WritesBits<Masked>> {
    const WritesBits<Masked>& to;
    std::uint32_t p, q;
    explicit SpilledOperand(const WritesBits<Masked>& o) : to(o), p(o.p), q(o.q) {}
    ~SpilledOperand() { to.p = p, to.q = to.both ? q : to.q; }
    WritesBits<Masked> lend() { return {p, q, to.both}; }
};

// ---- ports: an operand as the lane function's type ----------------------------------------

template <class P>
struct ElementOf {
    using type = void;
};
template <class T>
struct ElementOf<In<T>> {
    using type = T;
};
template <class T>
struct ElementOf<Out<T, true>> {
    using type = T;
};
template <class Row, std::size_t I, class M>
using Element = typename ElementOf<Port<Row::form().operands.list[I], M, true>>::type;

template <class T, class O>
struct PortOf;
template <class T, unsigned E>
struct PortOf<T, Lanes<E>> {
    alignas(64) Bytes<E> x[lanes];
    explicit PortOf(const Lanes<E>& v) { spread(v, x); }
    T get(unsigned i) const { return bit_cast<T>(x[i]); }
    void finish(std::uint32_t) {}
};
template <class T, class V>
struct PortOf<T, Uniform<V>> {
    T x;
    explicit PortOf(Uniform<V> o) : x(bit_cast<T>(o.value)) {}
    T get(unsigned) const { return x; }
    void finish(std::uint32_t) {}
};
template <>
struct PortOf<void, Predicate> {
    std::uint32_t bits;
    explicit PortOf(Predicate o) : bits(o.bits) {}
    bool get(unsigned i) const { return (bits & lane_bits.of[i]) != 0; }
    void finish(std::uint32_t) {}
};
template <>
struct PortOf<void, Number> {
    std::uint64_t value;
    explicit PortOf(Number o) : value(o.value) {}
    std::uint64_t get(unsigned) const { return value; }
    void finish(std::uint32_t) {}
};
template <class T, bool Masked, unsigned E>
struct PortOf<T, Writes<Masked, E>> {
    Lanes<E>& v;
    alignas(64) T made[lanes];
    explicit PortOf(Writes<Masked, E> o) : v(o.v) {}
    T& get(unsigned i) { return made[i]; }
    void finish(std::uint32_t mask) {
        const auto* from = reinterpret_cast<const Bytes<E>*>(made);
        if constexpr (Masked) {
            alignas(64) Bytes<E> old[lanes], now[lanes];
            spread(v, old);
            select(mask, from, old, now);
            pack(now, v);
        } else {
            (void)mask;
            pack(from, v);
        }
    }
};
template <bool Masked>
struct PortOf<void, WritesBits<Masked>> {
    std::uint32_t &p, &q;
    const bool both;
    alignas(64) std::int32_t made[lanes];
    explicit PortOf(WritesBits<Masked> o) : p(o.p), q(o.q), both(o.both) {}
    std::int32_t& get(unsigned i) { return made[i]; }
    void finish(std::uint32_t mask) {
        write_bits(WritesBits<Masked>{p, q, both}, mask, pack(made));
    }
};

template <class Row, class M, std::size_t... I, class... P>
CUPOLA_INLINE void run_ports(std::uint32_t mask, std::index_sequence<I...>, P... ports) {
    CUPOLA_EACH_LANE
    for (unsigned i = 0; i < lanes; ++i) Row::Sem::template lane<M>(ports.get(i)...);
    (ports.finish(mask), ...);
}
template <class Row, class M, std::size_t... I, class... O>
CUPOLA_INLINE void map_at(std::uint32_t mask, std::index_sequence<I...> index,
                          const O&... operands) {
    run_ports<Row, M>(mask, index, PortOf<Element<Row, I, M>, O>(operands)...);
}

template <class Sem>
struct LogicOf;
template <class Op>
struct LogicOf<PredicateLogic<Op>> {
    using type = Op;
};
// A row's function of predicates, all lanes at a time.
template <class Row, bool Masked>
CUPOLA_INLINE void logic(std::uint32_t mask, std::uint32_t& p, std::uint32_t a,
                         std::uint32_t b = 0) {
    const std::uint32_t made = LogicOf<typename Row::Sem>::type::of(a, b);
    p = Masked ? (p & ~mask) | (made & mask) : made;
}

// ---- once for all lanes -------------------------------------------------------------------

template <class T, class O>
struct OneOf;
template <class T, class V>
struct OneOf<T, Uniform<V>> : PortOf<T, Uniform<V>> {
    using PortOf<T, Uniform<V>>::PortOf;
};
template <class O>
struct OneOf<void, O> : PortOf<void, O> {
    using PortOf<void, O>::PortOf;
};
template <class V>
struct OneOut {
    V& value;
};
template <class T, class V>
struct OneOf<T, OneOut<V>> {
    V& value;
    T made;
    explicit OneOf(OneOut<V> o) : value(o.value) {}
    T& get(unsigned) { return made; }
    void finish(std::uint32_t) { value = bit_cast<V>(made); }
};
struct BitsOneOut {
    std::uint32_t &p, &q;
    bool both;
};
CUPOLA_INLINE BitsOneOut bits_one(std::uint32_t& p) { return {p, p, false}; }
CUPOLA_INLINE BitsOneOut bits_one(std::uint32_t& p, std::uint32_t& q) { return {p, q, true}; }
template <>
struct OneOf<void, BitsOneOut> {
    std::uint32_t &p, &q;
    const bool both;
    std::int32_t made;
    explicit OneOf(BitsOneOut o) : p(o.p), q(o.q), both(o.both) {}
    std::int32_t& get(unsigned) { return made; }
    void finish(std::uint32_t) {
        p = static_cast<std::uint32_t>(made);
        if (both) q = ~p;
    }
};

template <class Row, class M, class... P>
CUPOLA_INLINE void run_once(P... ports) {
    Row::Sem::template lane<M>(ports.get(0)...);
    (ports.finish(0), ...);
}
template <class T, class V>
CUPOLA_INLINE T value_of(const Uniform<V>& o) {
    return bit_cast<T>(o.value);
}
template <class>
CUPOLA_INLINE bool value_of(const Predicate& o) {
    return (o.bits & 1) != 0;
}
template <class>
CUPOLA_INLINE std::uint64_t value_of(const Number& o) {
    return o.value;
}
// Into a variable, or to several (`bits_one`).
template <class Row, class M, std::size_t... I, class D, class... O>
CUPOLA_INLINE void once_at(std::index_sequence<I...>, D& to, const O&... from) {
    using T = Element<Row, 0, M>;
    if constexpr (std::is_integral_v<D> && !(std::is_same_v<O, BitsOneOut> || ...)) {
        std::conditional_t<std::is_void_v<T>, std::int32_t, T> made;
        Row::Sem::template lane<M>(made, value_of<Element<Row, I + 1, M>>(from)...);
        to = bit_cast<D>(made);
    } else {
        using Out = std::conditional_t<std::is_integral_v<D>, OneOut<D>, D>;
        run_once<Row, M>(OneOf<T, Out>(Out{to}), OneOf<Element<Row, I + 1, M>, O>(from)...);
    }
}
template <class Row, class M, class D, class... O>
CUPOLA_INLINE void once(D&& to, const O&... from) {
    once_at<Row, M>(std::index_sequence_for<O...>(), to, from...);
}

template <class T>
CUPOLA_INLINE T parameter(const Warp& w, std::int64_t at) {
    T value;
    __builtin_memcpy(
        &value, reinterpret_cast<const void*>(w.block->parameters + static_cast<std::uint64_t>(at)),
        sizeof value);
    return value;
}

}  // namespace cupola::cpu::CUPOLA_ISA
