// csrc/cpu/exec/isa/bulk.hpp - reductions of whole stretches of memory: a lane's stretch is taken
// element by element, atomic against other blocks where it lies in global memory.
#pragma once

#include "cpu/exec/isa/atomic.hpp"

namespace cupola::cpu::CUPOLA_ISA {

// op: [1] generic address that is changed, [2] that is read, [3] bytes.
struct BulkReduce {
    using Whole = void;
    template <class M>
    [[gnu::noinline]] static const Code* body(const Code* ip, Warp& w, std::byte* r) {
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

}  // namespace cupola::cpu::CUPOLA_ISA
