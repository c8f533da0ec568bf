// csrc/cpu/emitted/lanes.hpp - the basis of emitted code: registers of 32 lanes as local variables.
//
// It applies the instruction table's functions of one lane to them.
#pragma once

#include "cpu/emitted/lane_vectors.hpp"
#include "cpu/interpreter/block_barrier.hpp"
#include "cpu/interpreter/counters.hpp"
#include "cpu/interpreter/machine_code.hpp"

namespace cupola::cpu::CUPOLA_ISA {

// ---- warps --------------------------------------------------------------------------------

// Ends the warp if its active lanes are all its live lanes and no barrier waits for their exit.
// Returns whether it did.
CUPOLA_INLINE bool exit_whole_warp(Warp& w, std::uint32_t mask) {
    Block& b = *w.block;
    if (!is_whole(w, mask) || b.awaited) return false;
    w.live = w.mask = 0;
    w.status = Status::done;
    b.live_threads -= count_lanes(mask);
    --b.live_warps;
    return true;
}

// Slow paths, compiled once. reschedule() handles a pc at or past the warp's limit, and the end of
// a time slice. diverge_branch() splits the active lanes at a branch.
[[gnu::noinline, gnu::cold]] inline const DecodedOp* reschedule(Warp& w, const DecodedOp* next,
                                                                const RuntimeCallbacks& s) {
    if (!(next < w.limit)) next = s.arrive(w, next);
    return w.budget < 0 ? s.end_time_slice(w, next) : next;
}
// Moves the lanes that wait in masks to the queue, so that `mask` has the warp's running lanes.
[[gnu::noinline, gnu::cold]] inline void enqueue_waiting(Warp& w, std::uint32_t mask,
                                                         std::uint32_t* waiting,
                                                         const std::uint32_t* points,
                                                         unsigned count, const DecodedOp* code) {
    for (unsigned k = 0; k < count; ++k) {
        if (waiting[k] != 0) enqueue_group(w, waiting[k], code + points[k]);
        waiting[k] = 0;
    }
    mask_lanes(w, mask);
}
template <std::size_t Count>
CUPOLA_INLINE void enqueue_waiting(Warp& w, std::uint32_t mask, std::uint32_t (&waiting)[Count],
                                   const std::uint32_t (&points)[Count], const DecodedOp* code) {
    enqueue_waiting(w, mask, waiting, points, Count, code);
}
[[gnu::noinline]] inline const DecodedOp* diverge_branch(Warp& w, std::uint32_t taken,
                                                         const DecodedOp* first,
                                                         const DecodedOp* second, std::int32_t cost,
                                                         const RuntimeCallbacks& s) {
    const DecodedOp* const next = diverge(w, taken, first, second, s.arrive);
    return (w.budget -= cost) < 0 ? s.end_time_slice(w, next) : next;
}

// The next warp of the block, or the first one after the last, if it can run now: it yielded at an
// entry, and has no other ready lanes.
CUPOLA_INLINE Warp* next_ready_warp(Warp* w, const RuntimeCallbacks& s, std::uint32_t& target) {
    const Block& b = *w->block;
    const bool last = w->index + 1u >= b.warp_count;
    if (last && !b.alone) return nullptr;
    Warp* const next = last ? w - w->index : w + 1;
    if (next->status != Status::yielded || next->ready_count != 0 || next->wake != 0)
        return nullptr;
    target = static_cast<std::uint32_t>(next->resume.pc - s.code);
    if (s.entry[target] == 0) return nullptr;
    mask_lanes(*next, next->resume.mask);
    update_reconvergence_pc(*next);
    next->status = Status::ready;
    next->block->running_warp = next;
    return next;
}

// ---- the register file --------------------------------------------------------------------

// One value for all lanes.
template <class T>
CUPOLA_INLINE void fill_uniform(T& u, const std::byte* r, int offset) {
    __builtin_memcpy(&u, r + offset, sizeof u);
}
template <class T>
CUPOLA_INLINE void spill_uniform(T u, std::byte* r, int offset) {
    T* const to = reinterpret_cast<T*>(r + offset);
    for (unsigned i = 0; i < lanes; ++i) to[i] = u;
}

// Writes a constant to the active lanes of a register.
template <class T>
CUPOLA_INLINE void spill_constant(std::uint32_t mask, T value, std::byte* r, int offset) {
    T* const to = reinterpret_cast<T*>(r + offset);
    for (unsigned i = 0; i < lanes; ++i)
        if (mask >> i & 1) to[i] = value;
}
CUPOLA_INLINE void spill_constant(std::uint32_t mask, bool value, std::byte* r, int offset) {
    auto& bits = *reinterpret_cast<std::uint32_t*>(r + offset);
    bits = value ? bits | mask : bits & ~mask;
}

// ---- operands -----------------------------------------------------------------------------

// Emitted code passes registers by reference and unwrapped: a reference in an object makes the
// compiler's alias analysis slow. A uniform value is a plain unsigned integer of the register's
// width.
template <class T>
struct Uniform {
    T value;
};
template <class T>
CUPOLA_INLINE Uniform<T> uniform(T value) {
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
struct LanesOutput {
    Lanes<E>& v;
};
template <bool Masked>
struct PredicateOutput {
    std::uint32_t &p, &q;
    bool both;
};
template <bool Masked>
CUPOLA_INLINE PredicateOutput<Masked> predicate_output(std::uint32_t& p) {
    return {p, p, false};
}
template <bool Masked>
CUPOLA_INLINE PredicateOutput<Masked> predicate_output(std::uint32_t& p, std::uint32_t& q) {
    return {p, q, true};
}
// Wraps a result as an output operand.
template <bool Masked, unsigned E>
CUPOLA_INLINE LanesOutput<Masked, E> as_output(Lanes<E>& v) {
    return {v};
}
template <bool Masked>
CUPOLA_INLINE PredicateOutput<Masked> as_output(std::uint32_t& p) {
    return {p, p, false};
}
template <bool, bool Masked>
CUPOLA_INLINE const PredicateOutput<Masked>& as_output(const PredicateOutput<Masked>& to) {
    return to;
}
template <bool Masked>
CUPOLA_INLINE void write_bits(const PredicateOutput<Masked>& to, std::uint32_t mask,
                              std::uint32_t made) {
    if (to.both) to.q = Masked ? (to.q & ~mask) | (~made & mask) : ~made;
    to.p = Masked ? (to.p & ~mask) | (made & mask) : made;
}
struct Immediate {
    std::uint64_t value;
};
CUPOLA_INLINE Immediate immediate(std::uint64_t value) { return {value}; }

// ---- operands of outlined functions ----------------------------------------------------------

// Copies an operand for an outlined function, which takes it by address. The caller's variable then
// needs no address.
template <class O>
struct SpilledOperand {
    O operand;
    explicit SpilledOperand(const O& o) : operand(o) {}
    const O& ref() const { return operand; }
};
template <bool Masked>
struct SpilledOperand<PredicateOutput<Masked>> {
    const PredicateOutput<Masked>& to;
    std::uint32_t p, q;
    explicit SpilledOperand(const PredicateOutput<Masked>& o) : to(o), p(o.p), q(o.q) {}
    ~SpilledOperand() { to.p = p, to.q = to.both ? q : to.q; }
    PredicateOutput<Masked> ref() { return {p, q, to.both}; }
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
    explicit PortOf(const Lanes<E>& v) { unpack(v, x); }
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
struct PortOf<void, Immediate> {
    std::uint64_t value;
    explicit PortOf(Immediate o) : value(o.value) {}
    std::uint64_t get(unsigned) const { return value; }
    void finish(std::uint32_t) {}
};
template <class T, bool Masked, unsigned E>
struct PortOf<T, LanesOutput<Masked, E>> {
    Lanes<E>& v;
    alignas(64) T made[lanes];
    explicit PortOf(LanesOutput<Masked, E> o) : v(o.v) {}
    T& get(unsigned i) { return made[i]; }
    void finish(std::uint32_t mask) {
        const auto* from = reinterpret_cast<const Bytes<E>*>(made);
        if constexpr (Masked) {
            alignas(64) Bytes<E> old[lanes], now[lanes];
            unpack(v, old);
            select(mask, from, old, now);
            pack(now, v);
        } else {
            (void)mask;
            pack(from, v);
        }
    }
};
template <bool Masked>
struct PortOf<void, PredicateOutput<Masked>> {
    std::uint32_t &p, &q;
    const bool both;
    alignas(64) std::int32_t made[lanes];
    explicit PortOf(PredicateOutput<Masked> o) : p(o.p), q(o.q), both(o.both) {}
    std::int32_t& get(unsigned i) { return made[i]; }
    void finish(std::uint32_t mask) {
        write_bits(PredicateOutput<Masked>{p, q, both}, mask, pack(made));
    }
};

template <class Row, class M, std::size_t... I, class... P>
CUPOLA_INLINE void run_ports(std::uint32_t mask, std::index_sequence<I...>, P... ports) {
    CUPOLA_EACH_LANE
    for (unsigned i = 0; i < lanes; ++i) Row::Sem::template lane<M>(ports.get(i)...);
    (ports.finish(mask), ...);
}
template <class Row, class M, std::size_t... I, class... O>
CUPOLA_INLINE void apply_ports(std::uint32_t mask, std::index_sequence<I...> index,
                               const O&... operands) {
    run_ports<Row, M>(mask, index, PortOf<Element<Row, I, M>, O>(operands)...);
}

template <class Sem>
struct LogicOf;
template <class Op>
struct LogicOf<PredicateLogic<Op>> {
    using type = Op;
};
// Applies a row's function of predicates to all lanes at a time.
template <class Row, bool Masked>
CUPOLA_INLINE void logic(std::uint32_t mask, std::uint32_t& p, std::uint32_t a,
                         std::uint32_t b = 0) {
    const std::uint32_t made = LogicOf<typename Row::Sem>::type::of(a, b);
    p = Masked ? (p & ~mask) | (made & mask) : made;
}

// ---- uniform results ----------------------------------------------------------------------

template <class T, class O>
struct UniformPort;
template <class T, class V>
struct UniformPort<T, Uniform<V>> : PortOf<T, Uniform<V>> {
    using PortOf<T, Uniform<V>>::PortOf;
};
template <class O>
struct UniformPort<void, O> : PortOf<void, O> {
    using PortOf<void, O>::PortOf;
};
template <class V>
struct UniformOutput {
    V& value;
};
template <class T, class V>
struct UniformPort<T, UniformOutput<V>> {
    V& value;
    T made;
    explicit UniformPort(UniformOutput<V> o) : value(o.value) {}
    T& get(unsigned) { return made; }
    void finish(std::uint32_t) { value = bit_cast<V>(made); }
};
struct UniformPredicateOutput {
    std::uint32_t &p, &q;
    bool both;
};
CUPOLA_INLINE UniformPredicateOutput uniform_predicate(std::uint32_t& p) { return {p, p, false}; }
CUPOLA_INLINE UniformPredicateOutput uniform_predicate(std::uint32_t& p, std::uint32_t& q) {
    return {p, q, true};
}
template <>
struct UniformPort<void, UniformPredicateOutput> {
    std::uint32_t &p, &q;
    const bool both;
    std::int32_t made;
    explicit UniformPort(UniformPredicateOutput o) : p(o.p), q(o.q), both(o.both) {}
    std::int32_t& get(unsigned) { return made; }
    void finish(std::uint32_t) {
        p = static_cast<std::uint32_t>(made);
        if (both) q = ~p;
    }
};

template <class Row, class M, class... P>
CUPOLA_INLINE void run_uniform(P... ports) {
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
CUPOLA_INLINE std::uint64_t value_of(const Immediate& o) {
    return o.value;
}
// The result is a variable, or a predicate and its negation (`uniform_predicate`).
template <class Row, class M, std::size_t... I, class D, class... O>
CUPOLA_INLINE void apply_uniform_at(std::index_sequence<I...>, D& to, const O&... from) {
    using T = Element<Row, 0, M>;
    if constexpr (std::is_integral_v<D> && !(std::is_same_v<O, UniformPredicateOutput> || ...)) {
        std::conditional_t<std::is_void_v<T>, std::int32_t, T> made;
        Row::Sem::template lane<M>(made, value_of<Element<Row, I + 1, M>>(from)...);
        to = bit_cast<D>(made);
    } else {
        using Out = std::conditional_t<std::is_integral_v<D>, UniformOutput<D>, D>;
        run_uniform<Row, M>(UniformPort<T, Out>(Out{to}),
                            UniformPort<Element<Row, I + 1, M>, O>(from)...);
    }
}
template <class Row, class M, class D, class... O>
CUPOLA_INLINE void apply_uniform(D&& to, const O&... from) {
    apply_uniform_at<Row, M>(std::index_sequence_for<O...>(), to, from...);
}

template <class T>
CUPOLA_INLINE T parameter(const Warp& w, std::int64_t offset) {
    T value;
    __builtin_memcpy(
        &value,
        reinterpret_cast<const void*>(w.block->parameters + static_cast<std::uint64_t>(offset)),
        sizeof value);
    return value;
}

}  // namespace cupola::cpu::CUPOLA_ISA
