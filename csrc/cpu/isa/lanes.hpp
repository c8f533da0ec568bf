// csrc/cpu/isa/lanes.hpp - maps a function of one lane over a warp.
//
// Reads operands, and writes results under the active mask. Only sources of isa/ include it.
#pragma once

#include <cfenv>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "cpu/isa/handler_table.hpp"
#include "cpu/isa/intrinsics.hpp"
#include "cpu/isa/types.hpp"

#if defined(__clang__)
#define CUPOLA_EACH_LANE _Pragma("clang loop vectorize(assume_safety)")
#define CUPOLA_UNROLL _Pragma("clang loop unroll_count(8)")
#else
#define CUPOLA_EACH_LANE _Pragma("GCC ivdep")
#define CUPOLA_UNROLL _Pragma("GCC unroll 8")
#endif

namespace cupola::cpu::CUPOLA_ISA {

using namespace interpreter;

#if defined(__AVX512F__)
inline constexpr unsigned vector_bytes = 64;
#elif defined(__AVX__)
inline constexpr unsigned vector_bytes = 32;
#else
inline constexpr unsigned vector_bytes = 16;
#endif

// Packs 0 or -1 in each lane to one bit each.
inline std::uint32_t pack(const std::int32_t* m) {
    constexpr unsigned each = vector_bytes / 4;
    std::uint32_t bits = 0;
    for (unsigned i = 0; i < lanes; i += each) {
        VectorOf<std::int32_t, vector_bytes> v;
        std::memcpy(&v, m + i, sizeof v);
        bits |= signs(v) << i;
    }
    return bits;
}

struct LaneBits {
    alignas(64) std::uint32_t of[lanes] = {};
    constexpr LaneBits() {
        for (unsigned i = 0; i < lanes; ++i) of[i] = 1u << i;
    }
};
inline constexpr LaneBits lane_bits;

// Selects lanes of two registers, by one bit each.
template <class T>
[[gnu::always_inline]] inline void select(std::uint32_t mask, const T* yes, const T* no, T* to) {
    if constexpr (blends_by_bits<T, vector_bytes>) {
        using V = VectorOf<T, vector_bytes>;
        constexpr unsigned each = sizeof(V) / sizeof(T);
        for (unsigned i = 0; i < lanes; i += each) {
            V a, b;
            std::memcpy(&a, yes + i, sizeof a);
            std::memcpy(&b, no + i, sizeof b);
            const V made = blend(mask >> i, a, b);
            std::memcpy(to + i, &made, sizeof made);
        }
        return;
    }
    CUPOLA_EACH_LANE
    for (unsigned i = 0; i < lanes; ++i) to[i] = (mask & lane_bits.of[i]) != 0 ? yes[i] : no[i];
}

template <class T>
struct In {
    const T* p;
    In(const DecodedOp*, std::int32_t offset, std::byte* r) : p(at<const T>(r, offset)) {}
    T get(unsigned i) const { return p[i]; }
    void finish(Warp&) {}
};

template <class T, bool Full>
struct Out {
    T* p;
    Out(const DecodedOp*, std::int32_t offset, std::byte* r) : p(at<T>(r, offset)) {}
    T& get(unsigned i) { return p[i]; }
    void finish(Warp&) {}
};

template <class T>
struct Out<T, false> {
    T* p;
    alignas(64) T made[lanes];
    Out(const DecodedOp*, std::int32_t offset, std::byte* r) : p(at<T>(r, offset)) {}
    T& get(unsigned i) { return made[i]; }
    void finish(Warp& w) {
        CUPOLA_EACH_LANE
        for (unsigned i = 0; i < lanes; ++i) p[i] = w.lane_mask[i] ? made[i] : p[i];
    }
};

struct PredicateIn {
    std::uint32_t bits;
    PredicateIn(const DecodedOp*, std::int32_t offset, std::byte* r) : bits(bits_at(r, offset)) {}
    bool get(unsigned i) const { return (bits & lane_bits.of[i]) != 0; }
    void finish(Warp&) {}
};

// A predicate result: lanes write 0 or -1.
struct PredicateOut {
    std::uint32_t* p;
    alignas(64) std::int32_t made[lanes];
    PredicateOut(const DecodedOp*, std::int32_t offset, std::byte* r) : p(&bits_at(r, offset)) {}
    std::int32_t& get(unsigned i) { return made[i]; }
    void finish(Warp& w) { *p = (*p & ~w.mask) | (pack(made) & w.mask); }
};

// p|q: q is the negation of p.
struct PredicatePairOut {
    std::uint32_t *p, *q;
    alignas(64) std::int32_t made[lanes];
    PredicatePairOut(const DecodedOp* ip, std::int32_t offset, std::byte* r)
        : p(&bits_at(r, offset)), q(&bits_at(r, ip->op[1])) {}
    std::int32_t& get(unsigned i) { return made[i]; }
    void finish(Warp& w) {
        const std::uint32_t bits = pack(made);
        *q = (*q & ~w.mask) | (~bits & w.mask);
        *p = (*p & ~w.mask) | (bits & w.mask);
    }
};

struct Constant {
    std::uint64_t value;
    Constant(const DecodedOp* ip, std::int32_t, std::byte*)
        : value(static_cast<std::uint64_t>(ip->imm)) {}
    std::uint64_t get(unsigned) const { return value; }
    void finish(Warp&) {}
};

template <OperandConstraint S, class M, bool Full>
auto port_of() {
    if constexpr (S == OperandConstraint::d || S == OperandConstraint::dr)
        return (Out<Lane<M::type>, Full>*)nullptr;
    else if constexpr (S == OperandConstraint::dw)
        return (Out<Wide<Lane<M::type>>, Full>*)nullptr;
    else if constexpr (S == OperandConstraint::d32)
        return (Out<std::uint32_t, Full>*)nullptr;
    else if constexpr (S == OperandConstraint::a || S == OperandConstraint::address)
        return (In<Lane<M::type>>*)nullptr;
    else if constexpr (S == OperandConstraint::aw)
        return (In<Wide<Lane<M::type>>>*)nullptr;
    else if constexpr (S == OperandConstraint::a2 || S == OperandConstraint::ar2)
        return (In<Lane<M::type2>>*)nullptr;
    else if constexpr (S == OperandConstraint::four_a2)
        return (In<Four<Lane<M::type2>>>*)nullptr;
    else if constexpr (S == OperandConstraint::w)
        return (In<std::uint32_t>*)nullptr;
    else if constexpr (S == OperandConstraint::h)
        return (In<std::uint16_t>*)nullptr;
    else if constexpr (S == OperandConstraint::np || S == OperandConstraint::cc_in)
        return (PredicateIn*)nullptr;
    else if constexpr (S == OperandConstraint::p || S == OperandConstraint::cc_out)
        return (PredicateOut*)nullptr;
    else if constexpr (S == OperandConstraint::pq)
        return (PredicatePairOut*)nullptr;
    else if constexpr (S == OperandConstraint::imm)
        return (Constant*)nullptr;
    else
        static_assert(S == OperandConstraint::d, "no port for this shape");
}
template <OperandConstraint S, class M, bool Full>
using Port = std::remove_pointer_t<decltype(port_of<S, M, Full>())>;

template <std::size_t, class P>
struct Held {
    P port;
};
template <class Index, class... P>
struct Ports;
template <std::size_t... I, class... P>
struct Ports<std::index_sequence<I...>, P...> : Held<I, P>... {
    Ports(const DecodedOp* ip, std::byte* r, const unsigned* slots)
        : Held<I, P>{P(ip, ip->op[slots[I] < 6 ? slots[I] : 0], r)}... {}
    template <class Sem, class M>
    void run() {
        CUPOLA_EACH_LANE
        for (unsigned i = 0; i < lanes; ++i)
            Sem::template lane<M>(static_cast<Held<I, P>*>(this)->port.get(i)...);
    }
    void finish(Warp& w) { (static_cast<Held<I, P>*>(this)->port.finish(w), ...); }
};

// Sets the rounding mode while it lives. The calls are opaque to the compiler, so values loaded
// between them are computed between them.
template <bool Active>
struct Rounding {
    explicit Rounding(ptx::Round) {}
};
template <>
struct Rounding<true> {
    explicit Rounding(ptx::Round to) {
        const bool down = to == ptx::Round::rm || to == ptx::Round::rmi;
        set(to == ptx::Round::rz ? FE_TOWARDZERO : down ? FE_DOWNWARD : FE_UPWARD);
    }
    ~Rounding() { set(FE_TONEAREST); }
    Rounding(const Rounding&) = delete;
    Rounding& operator=(const Rounding&) = delete;

  private:
    static void set(int mode) {
#if defined(__x86_64__)
        // fesetround also sets the mode of the x87 unit, which takes much longer.
        std::uint32_t control;
        __asm__ volatile("stmxcsr %0" : "=m"(control));
        control = (control & ~0x6000u) | static_cast<std::uint32_t>(mode) << 3;
        __asm__ volatile("ldmxcsr %0" : : "m"(control) : "memory");
#else
        std::fesetround(mode);
#endif
    }
};

// For rare instructions only the variant for a full warp is compiled, which halves their compile
// time. A warp with inactive lanes then copies the results.
#if defined(CUPOLA_HASTY)
template <class M>
constexpr bool rare = true;
#else
template <class M>
constexpr bool rare =
    M::directed || M::sat || M::relu || M::satfinite || M::nan || M::xorsign ||
    (M::type != Type::none && ptx::bytes_of(M::type) < 4) ||
    (M::type2 != Type::none && ptx::bytes_of(M::type2) < 4) || M::type == Type::f16x2
    || M::type == Type::bf16x2 || M::type == Type::tf32 || M::type == Type::u16x2
    || M::type == Type::s16x2 || M::type == Type::u8x4 || M::type == Type::s8x4
    || M::type == Type::f32x2;
#endif

// Whether the instruction runs as rounding to nearest while the processor has the instruction's
// rounding mode. Narrow floats are rounded in software. Rounding to an integer is common and has an
// instruction of its own.
template <class M>
constexpr bool rounds_as_set() {
    if constexpr (M::type == Type::f32 || M::type == Type::f64 || M::type == Type::f32x2)
        if (M::directed) return true;
    return rare<M> && (M::round == ptx::Round::rmi || M::round == ptx::Round::rpi);
}
// Whether no rounding changes the result: 0 or 1, or 8 bits.
template <class M>
constexpr bool rounds_alike() {
    if constexpr (M::type2 != Type::none)
        return M::directed && ptx::is_integer(M::type2) &&
               (M::sat || (ptx::bytes_of(M::type2) == 1 && M::type != Type::bf16));
    return false;
}
template <class M>
struct NearestOf;
template <Type T1, Type T2, Bits B>
struct NearestOf<Mods<T1, T2, B>> {
    static constexpr auto to = Mods<T1, T2, B>::directed ? ptx::Round::rn : ptx::Round::rni;
    using type =
        Mods<T1, T2, (B & ~field::round.put(15)) | field::round.put(static_cast<unsigned>(to))>;
};

constexpr bool writes_lanes(OperandConstraint s) {
    return s == OperandConstraint::d || s == OperandConstraint::dr || s == OperandConstraint::dw ||
           s == OperandConstraint::d32;
}
constexpr bool writes_bits(OperandConstraint s) {
    return s == OperandConstraint::p || s == OperandConstraint::pq ||
           s == OperandConstraint::cc_out;
}
template <class Row>
constexpr bool writes_lanes_anywhere() {
    for (std::size_t i = 0; i < Row::form().operands.count; ++i)
        if (writes_lanes(Row::form().operands.list[i])) return true;
    return false;
}
template <class Row>
constexpr bool writes_first_alone() {
    for (std::size_t i = 0; i < Row::form().operands.count; ++i)
        if (i == 0 ? !writes_lanes(Row::form().operands.list[i])
                   : writes_lanes(Row::form().operands.list[i]) ||
                         writes_bits(Row::form().operands.list[i]))
            return false;
    return true;
}

// handlers.cpp: runs one handler, but not the next one that it would jump to.
void run_alone(Handler run, const DecodedOp* ip, Warp& w, std::byte* r) noexcept;

// Runs a handler for all lanes, then restores the result of masked lanes.
template <class T>
__attribute__((noinline)) void run_masked(Handler run, const DecodedOp* ip, Warp& w, std::byte* r) {
    T* const p = at<T>(r, ip->op[0]);
    alignas(64) T before[lanes];
    std::memcpy(before, p, sizeof before);
    const std::uint32_t mask = w.mask;
    w.mask = all_lanes;
    run_alone(run, ip, w, r);
    w.mask = mask;
    CUPOLA_EACH_LANE
    for (unsigned i = 0; i < lanes; ++i) p[i] = w.lane_mask[i] ? p[i] : before[i];
}

// The handler of an instruction whose semantics is a function of one lane.
template <class Sem, class M, class Row, class Index>
struct Map;
template <class Sem, class M, class Row, std::size_t... I>
struct Map<Sem, M, Row, std::index_sequence<I...>> {
    template <bool Full>
    static inline __attribute__((always_inline)) void apply(const DecodedOp* ip, Warp& w,
                                                            std::byte* r) {
        static constexpr unsigned slots[] = {slot_of(Row::form().operands, I)...};
        Ports<std::index_sequence<I...>, Port<Row::form().operands.list[I], M, Full>...> ports(
            ip, r, slots);
        ports.template run<Sem, M>();
        ports.finish(w);
    }
    static inline __attribute__((always_inline)) const DecodedOp* body(const DecodedOp* ip, Warp& w,
                                                                       std::byte* r) {
        if constexpr (!writes_lanes_anywhere<Row>()) {
            apply<false>(ip, w, r);  // predicates are masked in any case
        } else if (__builtin_expect(w.mask == all_lanes, 1)) {
            apply<true>(ip, w, r);
        } else if constexpr (rare<M> && writes_first_alone<Row>()) {
            using Result = Port<Row::form().operands.list[0], M, true>;
            run_masked<Bytes<sizeof(*Result::p)>>(&threaded<&body>, ip, w, r);
        } else {
            apply<false>(ip, w, r);
        }
        return ip + 1;
    }
    static const DecodedOp* as_nearest(const DecodedOp* ip, Warp& w, std::byte* r) {
        using Nearest = Map<Sem, typename NearestOf<M>::type, Row, std::index_sequence<I...>>;
        const Rounding<!rounds_alike<M>()> rounding(M::round);
        run_alone(Nearest::handler, ip, w, r);
        return ip + 1;
    }
    static constexpr Handler choose() {
        if constexpr (rounds_alike<M>() || rounds_as_set<M>())
            return &threaded<&as_nearest>;
        else
            return &threaded<&body>;
    }
    static constexpr Handler handler = choose();
};

}  // namespace cupola::cpu::CUPOLA_ISA
