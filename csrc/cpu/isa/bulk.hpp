// csrc/cpu/isa/bulk.hpp - reductions of arrays in memory and of tensor tiles.
//
// Elements are processed one by one, and atomically to other blocks in global memory.
#pragma once

#include "cpu/isa/atomic.hpp"
#include "cpu/isa/tile_reduction.hpp"

namespace cupola::cpu::CUPOLA_ISA {

// op: [1] generic destination, [2] source, [3] bytes.
struct BulkReduce {
    using Whole = void;
    template <class M>
    [[gnu::noinline]] static const DecodedOp* body(const DecodedOp* ip, Warp& w, std::byte* r) {
        using T = Lane<M::type>;
        const auto* to = at<const std::uint64_t>(r, ip->op[1]);
        const auto* from = at<const std::uint64_t>(r, ip->op[2]);
        const auto* size = at<const std::uint32_t>(r, ip->op[3]);
        for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
            const auto lane = static_cast<unsigned>(__builtin_ctz(m));
            Block& b = *w.block;
            if (!b.bulk(w, ip, lane, to[lane], size[lane], true) ||
                !b.bulk(w, ip, lane, from[lane], size[lane], false))
                return stop_faulted(w);
            for (std::uint32_t n = 0; n < size[lane]; n += sizeof(T)) {
                T x;
                std::memcpy(&x, reinterpret_cast<const void*>(from[lane] + n), sizeof x);
                update<false, T>(to[lane] + n, [x](T now) { return updated<M::atomic>(now, x); });
            }
        }
        return ip + 1;
    }
    template <class M>
    static Handler handler(const Key&) {
        return &threaded<&body<M>>;
    }
};

template <ptx::Atomic Op, class T>
bool reduce_elements_of(std::byte* to, const std::byte* from, std::size_t bytes) {
    for (std::size_t n = 0; n < bytes; n += sizeof(T)) {
        T x;
        std::memcpy(&x, from + n, sizeof x);
        update<false, T>(reinterpret_cast<std::uint64_t>(to + n),
                         [x](T now) { return updated<Op>(now, x); });
    }
    return true;
}

template <ptx::Atomic Op>
bool reduce_elements(TensorMap::Element type, std::byte* to, const std::byte* from,
                     std::size_t bytes) {
    using A = ptx::Atomic;
    using Element = TensorMap::Element;
    constexpr bool counts = Op == A::inc || Op == A::dec;
    constexpr bool bits = Op == A::and_ || Op == A::or_ || Op == A::xor_;
    if (type == Element::u32) return reduce_elements_of<Op, std::uint32_t>(to, from, bytes);
    if constexpr (!counts) {
        if (type == Element::s32) return reduce_elements_of<Op, std::int32_t>(to, from, bytes);
        if (type == Element::u64) return reduce_elements_of<Op, std::uint64_t>(to, from, bytes);
    }
    // an H200 reports `and` of s64 as an illegal instruction
    if constexpr (Op == A::min || Op == A::max) {
        if (type == Element::s64) return reduce_elements_of<Op, std::int64_t>(to, from, bytes);
    }
    if constexpr (!counts && !bits) {
        if (type == Element::f16) return reduce_elements_of<Op, Lane<Type::f16>>(to, from, bytes);
        if (type == Element::bf16) return reduce_elements_of<Op, Lane<Type::bf16>>(to, from, bytes);
    }
    if constexpr (Op == A::add) {
        if (type == Element::f32) return reduce_elements_of<Op, float>(to, from, bytes);
        if (type == Element::f64) return reduce_elements_of<Op, double>(to, from, bytes);
    }
    return false;
}

struct TensorReduce {
    using Whole = void;
    template <class M>
    static const DecodedOp* body(const DecodedOp* ip, Warp& w, std::byte* r) {
        return interpreter::reduce_tile(ip, w, r, &reduce_elements<M::atomic>);
    }
    template <class M>
    static Handler handler(const Key&) {
        return &threaded<&body<M>>;
    }
};

}  // namespace cupola::cpu::CUPOLA_ISA
