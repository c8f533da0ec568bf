// csrc/cpu/isa/warp.hpp - operations across the lanes of a warp.
#pragma once

#include "cpu/isa/atomic.hpp"
#include "cpu/isa/shuffle.hpp"

namespace cupola::cpu::CUPOLA_ISA {

// Whether all lanes of the member mask are active; else the active lanes must wait.
inline bool gathered(Warp& w, std::uint32_t members) {
    if ((members & w.live & ~w.mask) == 0) return true;
    if (!w.lenient) return false;
    w.lenient = false;
    return true;
}
inline std::uint32_t first_of(const Warp& w, const std::byte* r, std::int32_t offset) {
    return reinterpret_cast<const std::uint32_t*>(r + offset)[__builtin_ctz(w.mask)];
}
// Whether all lanes have the same member mask, which is the usual case. Subgroups of a warp may
// have masks of their own.
inline bool agreed(const Warp& w, const std::byte* r, std::int32_t offset, std::uint32_t members) {
    const auto* named = reinterpret_cast<const std::uint32_t*>(r + offset);
    std::uint32_t other = 0;
    for (unsigned i = 0; i < lanes; ++i)
        other |= (named[i] ^ members) & static_cast<std::uint32_t>(w.lane_mask[i]);
    return other == 0;
}
// Calls run(members) with the mask of each group of lanes that have one member mask. Groups with
// missing members wait, and continue at `then`. Returns the next DecodedOp.
template <class F>
const DecodedOp* each_group(const DecodedOp* ip, Warp& w, const std::byte* r, std::int32_t offset,
                            const DecodedOp* then, F run) {
    const auto* named = reinterpret_cast<const std::uint32_t*>(r + offset);
    const std::uint32_t all = w.mask;
    std::uint32_t on = 0;
    for (std::uint32_t left = all; left != 0;) {
        const std::uint32_t members = named[__builtin_ctz(left)];
        std::uint32_t group = 0;
        for (std::uint32_t m = left; m != 0; m &= m - 1)
            if (named[__builtin_ctz(m)] == members) group |= m & (0u - m);
        left &= ~group;
        set_mask(w, all);
        if (!gathered(w, members)) {
            w.waiting[w.waiting_count++] = {group, then, ip, -1, members};
            continue;
        }
        set_mask(w, group);
        run(members);
        on |= group;
    }
    if (on == 0) return pick(w);
    set_mask(w, on);
    return ip + 1;
}
inline void write_bits(Warp& w, std::uint32_t& p, std::uint32_t bits) {
    p = (p & ~w.mask) | (bits & w.mask);
}
template <class T>
void write_lanes(Warp& w, T* d, T value) {
    for (unsigned i = 0; i < lanes; ++i) d[i] = w.lane_mask[i] ? value : d[i];
}

// Op::run<M>(ip, w, r) executes the operation; Members is the operand slot of the member mask.
template <class Op, unsigned Members>
struct WarpWide {
    using Whole = void;
    template <class M>
    [[gnu::noinline]] static const DecodedOp* body(const DecodedOp* ip, Warp& w, std::byte* r) {
        const std::uint32_t members = first_of(w, r, ip->op[Members]);
        if (__builtin_expect(!agreed(w, r, ip->op[Members], members), 0))
            return each_group(ip, w, r, ip->op[Members], ip, [&](std::uint32_t named) {
                Op::template run<M>(ip, w, r, named & w.mask);
            });
        if (!gathered(w, members)) return wait_for_lanes(w, members, ip, ip);
        Op::template run<M>(ip, w, r, members & w.mask);
        return ip + 1;
    }
    template <class M>
    static Handler handler(const Key&) {
        return &threaded<&body<M>>;
    }
};

struct VoteOp {
    template <class M>
    static void run(const DecodedOp* ip, Warp& w, std::byte* r, std::uint32_t here) {
        const std::uint32_t yes = bits_at(r, ip->op[1]) & here;
        const bool all = yes == here;
        const bool out = M::mode == ptx::Mode::all   ? all
                         : M::mode == ptx::Mode::any ? yes != 0
                                                     : all || yes == 0;
        write_bits(w, bits_at(r, ip->op[0]), out ? all_lanes : 0);
    }
};
struct BallotOp {
    template <class M>
    static void run(const DecodedOp* ip, Warp& w, std::byte* r, std::uint32_t here) {
        write_lanes(w, at<std::uint32_t>(r, ip->op[0]), bits_at(r, ip->op[1]) & here);
    }
};
struct MatchAnyOp {
    template <class M>
    static void run(const DecodedOp* ip, Warp& w, std::byte* r, std::uint32_t here) {
        const auto* a = at<const Lane<M::type>>(r, ip->op[1]);
        auto* d = at<std::uint32_t>(r, ip->op[0]);
        std::uint32_t made[lanes] = {};
        for (std::uint32_t m = here; m != 0;) {
            const auto value = a[__builtin_ctz(m)];
            std::uint32_t same = 0;
            for (unsigned i = 0; i < lanes; ++i)
                same |= static_cast<std::uint32_t>(a[i] == value) << i;
            same &= here;
            for (unsigned i = 0; i < lanes; ++i) made[i] |= (same >> i & 1) ? same : 0;
            m &= ~same;
        }
        for (unsigned i = 0; i < lanes; ++i) d[i] = w.lane_mask[i] ? made[i] : d[i];
    }
};
struct MatchAllOp {
    template <class M>
    static void run(const DecodedOp* ip, Warp& w, std::byte* r, std::uint32_t here) {
        const auto* a = at<const Lane<M::type>>(r, ip->op[2]);
        const auto value = a[__builtin_ctz(w.mask)];
        bool all = true;
        for (std::uint32_t m = here; m != 0; m &= m - 1) all &= a[__builtin_ctz(m)] == value;
        write_lanes(w, at<std::uint32_t>(r, ip->op[0]), all ? here : 0u);
        write_bits(w, bits_at(r, ip->op[1]), all ? all_lanes : 0);
    }
};
struct ReduxOp {
    template <class M>
    static void run(const DecodedOp* ip, Warp& w, std::byte* r, std::uint32_t here) {
        using T = Lane<M::type>;
        const T* a = at<const T>(r, ip->op[1]);
        if (here == 0) return;
        if constexpr (std::is_same_v<T, float>)
            return write_lanes(w, at<T>(r, ip->op[0]), extreme<M>(a, here));
        T sum = a[__builtin_ctz(here)];
        for (std::uint32_t m = here & (here - 1); m != 0; m &= m - 1)
            sum = updated<M::atomic>(sum, a[__builtin_ctz(m)]);
        write_lanes(w, at<T>(r, ip->op[0]), sum);
    }

  private:
    // A NaN counts only with .NaN, or where all values are NaN.
    template <class M>
    static float extreme(const float* a, std::uint32_t here) {
        using Op = std::conditional_t<M::atomic == ptx::Atomic::min, MinReal, MaxReal>;
        const float first = a[__builtin_ctz(here)];
        float d = 0;
        Op::template lane<M>(d, first, first, first);
        for (std::uint32_t m = here & (here - 1); m != 0; m &= m - 1) {
            const float next = a[__builtin_ctz(m)];
            Op::template lane<M>(d, d, next, next);
        }
        return d;
    }
};
struct ShuffleOp {
    template <class M>
    static void run(const DecodedOp* ip, Warp& w, std::byte* r, std::uint32_t) {
        const auto* a = at<const std::uint32_t>(r, ip->op[2]);
        const auto* b = at<const std::uint32_t>(r, ip->op[3]);
        const auto* c = at<const std::uint32_t>(r, ip->op[4]);
        std::uint32_t made[lanes];
        std::int32_t valid[lanes];
        for (std::uint32_t i = 0; i < lanes; ++i) {
            const ShuffleSource source = shuffle_source<M::mode>(i, b[i], c[i]);
            made[i] = a[source.lane];
            valid[i] = source.valid ? -1 : 0;
        }
        auto* d = at<std::uint32_t>(r, ip->op[0]);
        for (unsigned i = 0; i < lanes; ++i) d[i] = w.lane_mask[i] ? made[i] : d[i];
        write_bits(w, bits_at(r, ip->op[1]), pack(valid));
    }
};
struct ElectOp {
    template <class M>
    static void run(const DecodedOp* ip, Warp& w, std::byte* r, std::uint32_t here) {
        const std::uint32_t leader = here & (0u - here);
        write_lanes(w, at<std::uint32_t>(r, ip->op[0]),
                    static_cast<std::uint32_t>(leader ? __builtin_ctz(leader) : 0));
        write_bits(w, bits_at(r, ip->op[1]), leader);
    }
};

using VoteSync = WarpWide<VoteOp, 2>;
using BallotSync = WarpWide<BallotOp, 2>;
using MatchAny = WarpWide<MatchAnyOp, 2>;
using MatchAll = WarpWide<MatchAllOp, 3>;
using ReduxSync = WarpWide<ReduxOp, 2>;
using ShuffleSync = WarpWide<ShuffleOp, 5>;
using ElectSync = WarpWide<ElectOp, 2>;

struct ActiveMask {
    using Whole = void;
    static inline const DecodedOp* body(const DecodedOp* ip, Warp& w, std::byte* r) {
        write_lanes(w, at<std::uint32_t>(r, ip->op[0]), w.mask);
        return ip + 1;
    }
    template <class M>
    static Handler handler(const Key&) {
        return &threaded<&body>;
    }
};
struct WarpBarrier {
    using Whole = void;
    static inline const DecodedOp* body(const DecodedOp* ip, Warp& w, std::byte* r) {
        const std::uint32_t members = first_of(w, r, ip->op[0]);
        if (__builtin_expect(!agreed(w, r, ip->op[0], members), 0))
            return each_group(ip, w, r, ip->op[0], ip + 1, [](std::uint32_t) {});
        if (!gathered(w, members)) return wait_for_lanes(w, members, ip, ip + 1);
        return ip + 1;
    }
    template <class M>
    static Handler handler(const Key&) {
        return &threaded<&body>;
    }
};

}  // namespace cupola::cpu::CUPOLA_ISA
