// csrc/cpu/isa/atomic.hpp - atom and red: lane by lane, atomic to blocks on other threads.
//
// One host thread at a time runs a cluster, so plain updates suffice for shared memory.
#pragma once

#include "cpu/isa/memory.hpp"
#include "cpu/isa/real.hpp"

namespace cupola::cpu::CUPOLA_ISA {

using Plain = Mods<Type::none, Type::none, 0>;

template <ptx::Atomic Op, class T>
T updated(T old, T b) {
    using A = ptx::Atomic;
    if constexpr (Op == A::exch)
        return b;
    else if constexpr ((Op == A::min || Op == A::max) && std::is_class_v<T>) {
        using Scalar = std::conditional_t<Op == A::min, MinReal, MaxReal>;
        T d;
        std::conditional_t<is_short<T>, Scalar, Pairwise<Scalar>>::template lane<Plain>(d, old, b);
        return d;
    } else if constexpr (Op == A::add && std::is_class_v<T> && is_short<T>) {
        T d;
        AddReal::lane<Plain>(d, old, b);
        return d;
    } else if constexpr (Op == A::add && std::is_class_v<T>) {
        T d;
        Pairwise<AddReal>::lane<Plain>(d, old, b);
        return d;
    } else if constexpr (Op == A::add && std::is_floating_point_v<T>)
        return canonical(with_sign_of_invalid(old + b, old, b));
    else if constexpr (Op == A::add)
        return static_cast<T>(std::make_unsigned_t<T>(old) + std::make_unsigned_t<T>(b));
    else if constexpr (Op == A::min)
        return old < b ? old : b;
    else if constexpr (Op == A::max)
        return old > b ? old : b;
    else if constexpr (Op == A::and_)
        return old & b;
    else if constexpr (Op == A::or_)
        return old | b;
    else if constexpr (Op == A::xor_)
        return old ^ b;
    else if constexpr (Op == A::inc)
        return old >= b ? T(0) : static_cast<T>(old + 1);
    else
        return old == 0 || old > b ? b : static_cast<T>(old - 1);
}

// f32 additions flush denormals in global memory but not in shared memory, as on hardware.
template <ptx::Atomic Op, class T>
T updated_as(T old, T b, bool flushes) {
    if constexpr (Op == ptx::Atomic::add && std::is_same_v<T, float>)
        if (flushes) return flushed(updated<Op>(flushed(old), flushed(b)));
    return updated<Op>(old, b);
}

template <bool Private, class T, class F>
T update(std::uint64_t address, F change) {
    using Word = Raw<sizeof(T)>;
    auto* p = reinterpret_cast<Word*>(address);
    Word old;
    if constexpr (Private) {
        __builtin_memcpy(&old, p, sizeof old);
        const auto made = bit_cast<Word>(change(bit_cast<T>(old)));
        __builtin_memcpy(p, &made, sizeof made);
    } else {
        old = __atomic_load_n(p, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(p, &old, bit_cast<Word>(change(bit_cast<T>(old))), true,
                                            __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        }
    }
    return bit_cast<T>(old);
}

// Whether x86 has an instruction that updates an integer in memory so and returns the old value.
template <ptx::Atomic Op>
inline constexpr bool has_instruction = Op == ptx::Atomic::add || Op == ptx::Atomic::exch;
template <ptx::Atomic Op, class T>
T fetch_and(std::uint64_t address, T x) {
    auto* p = reinterpret_cast<Raw<sizeof(T)>*>(address);
    const auto word = bit_cast<Raw<sizeof(T)>>(x);
    if constexpr (Op == ptx::Atomic::add)
        return bit_cast<T>(__atomic_fetch_add(p, word, __ATOMIC_ACQ_REL));
    else
        return bit_cast<T>(__atomic_exchange_n(p, word, __ATOMIC_ACQ_REL));
}

template <Window W, class M, bool Returns>
struct AtomicAs {
    using T = Lane<M::type>;
    static constexpr ptx::Atomic operation = M::atomic;
    static constexpr bool returns = Returns;
    template <class B, class C>
    static T next(T now, unsigned i, B b, C c, bool global) {
        if constexpr (M::atomic == ptx::Atomic::cas)
            return now == T(b[i]) ? T(c[i]) : now;
        else
            return updated_as<M::atomic>(now, T(b[i]), global);
    }
    static bool is_global(const Block& block, std::uint64_t address) {
        return W == Window::flat && address - block.cluster >= block.cluster_bytes;
    }
    // The operation of lane i at a host address. B and C are arrays of T or act like arrays.
    template <class B, class C>
    static void one(const Block& block, std::uint64_t address, unsigned i, B b, C c, T* d) {
        T old;
        if constexpr (W != Window::shared && std::is_integral_v<T> && has_instruction<M::atomic>) {
            old = fetch_and<M::atomic, T>(address, b[i]);
        } else {
            const bool global = is_global(block, address);
            old = update<W == Window::shared, T>(address,
                                                 [&](T now) { return next(now, i, b, c, global); });
        }
        if constexpr (Returns) d[i] = old;
    }
    // All active lanes have one address: one update applies their operations in order.
    template <class B, class C>
    [[gnu::noinline]] static void all(const Block& block, std::uint32_t mask, std::uint64_t address,
                                      B b, C c, T* d) {
        const bool global = is_global(block, address);
        T old[lanes];
        update<W == Window::shared, T>(address, [&](T now) {
            for (std::uint32_t m = mask; m != 0; m &= m - 1) {
                const auto i = static_cast<unsigned>(__builtin_ctz(m));
                old[i] = now;
                now = next(now, i, b, c, global);
            }
            return now;
        });
        if constexpr (Returns)
            for (std::uint32_t m = mask; m != 0; m &= m - 1)
                d[__builtin_ctz(m)] = old[__builtin_ctz(m)];
    }
    template <class Address, class B, class C>
    static void in_turn(const Block& block, std::uint32_t mask, Address address, B b, C c, T* d) {
        if (!rare<M> && mask == all_lanes) {
            CUPOLA_UNROLL
            for (unsigned i = 0; i < lanes; ++i) one(block, address(i), i, b, c, d);
        } else {
            for (std::uint32_t m = mask; m != 0; m &= m - 1) {
                const auto i = static_cast<unsigned>(__builtin_ctz(m));
                one(block, address(i), i, b, c, d);
            }
        }
    }
    [[gnu::noinline]] static const DecodedOp* body(const DecodedOp* ip, Warp& w, std::byte* r) {
        Pattern pattern;
        if (!resolve_addresses<W>(ip, w, r + ip->op[4], sizeof(T), true, pattern))
            return stop_faulted(w);
        if (ip->flags & flag::release) __atomic_thread_fence(__ATOMIC_RELEASE);
        in_turn(
            *w.block, w.mask, [&](unsigned i) { return w.address[i]; }, at<const T>(r, ip->op[1]),
            at<const T>(r, ip->op[2]), at<T>(r, ip->op[0]));
        if (ip->flags & flag::acquire) __atomic_thread_fence(__ATOMIC_ACQUIRE);
        return ip + 1;
    }
    static constexpr Handler handler = &threaded<&body>;
};

template <bool Returns>
struct AtomicAccess {
    using Whole = void;
    template <class M>
    static Handler handler(const Key& key) {
        if (window_of(static_cast<ptx::Space>(field::space.get(key.modifiers))) == Window::shared)
            return AtomicAs<Window::shared, M, Returns>::handler;
        return AtomicAs<Window::flat, M, Returns>::handler;
    }
};
using AtomicReturn = AtomicAccess<true>;
using AtomicSwap = AtomicAccess<true>;
using AtomicReduce = AtomicAccess<false>;

struct Fence {
    using Whole = void;
    static inline const DecodedOp* body(const DecodedOp* ip, Warp&, std::byte*) {
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        return ip + 1;
    }
    template <class M>
    static Handler handler(const Key&) {
        return &threaded<&body>;
    }
};

}  // namespace cupola::cpu::CUPOLA_ISA
