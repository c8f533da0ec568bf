// csrc/cpu/interpreter/mbarrier.cpp - mbarrier objects: arrivals and bytes that a phase waits for.
//
// An object is 64 bits of the program's shared memory. One host thread at a time runs a
// cluster, so plain reads and writes are atomic to all its threads.
#include <cstring>

#include "cpu/interpreter/async.hpp"
#include "cpu/interpreter/block.hpp"

namespace cupola::cpu::interpreter {
namespace {

struct Mbarrier {
    // From the lowest bit: pending arrivals; expected arrivals of a phase; pending bytes, which may
    // be negative for a while; parity of the phase; whether the layout is v1; a valid bit.
    static constexpr unsigned counts = 20, bytes = 21, counts_of_v1 = 9;
    static constexpr std::uint64_t count_mask = (1u << counts) - 1, byte_mask = (1u << bytes) - 1,
                                   phase = std::uint64_t{1} << (2 * counts + bytes),
                                   v1 = phase << 1, valid = std::uint64_t{1} << 63;
    std::uint64_t bits;

    std::uint64_t pending() const { return bits & count_mask; }
    std::uint64_t expected() const { return bits >> counts & count_mask; }
    std::uint64_t transactions() const { return bits >> 2 * counts & byte_mask; }
    void set_pending(std::uint64_t n) { bits = (bits & ~count_mask) | (n & count_mask); }
    void set_expected(std::uint64_t n) {
        bits = (bits & ~(count_mask << counts)) | (n & count_mask) << counts;
    }
    void add_transactions(std::uint64_t n) {
        const std::uint64_t sum = (transactions() + n) & byte_mask;
        bits = (bits & ~(byte_mask << 2 * counts)) | sum << 2 * counts;
    }
    // Ends the phase after the last arrival and the last byte.
    void settle() {
        if (pending() != 0 || transactions() != 0) return;
        bits ^= phase;
        set_pending(expected());
    }
};

Mbarrier initialised(std::uint64_t count, bool v1) {
    Mbarrier b{Mbarrier::valid | (v1 ? Mbarrier::v1 : 0)};
    b.set_expected(count);
    b.set_pending(count);
    return b;
}

// A checked mbarrier object in memory; `store` writes it back.
class Held {
  public:
    Held(Warp& w, const DecodedOp* ip, unsigned lane, std::uint64_t address, bool fresh = false) {
        BlockState& block = block_of(w);
        memory_ = block.reach(w, ip, lane, address, 8, 8, observe::Touch::signal);
        if (!memory_) return;
        std::memcpy(&b.bits, memory_, 8);
        const std::uint64_t offset = address - block.Block::cluster;
        const bool shared = offset < block.cluster_bytes;
        if (shared && (fresh || (b.bits & Mbarrier::valid))) return;
        block.fault(
            w, ip, Fault::Kind::illegal_address, lane,
            shared ? "the mbarrier is not initialised" : "the mbarrier is not in shared memory",
            address);
        memory_ = nullptr;
    }
    explicit operator bool() const { return memory_ != nullptr; }
    void store() { std::memcpy(memory_, &b.bits, 8); }
    Mbarrier b{0};

  private:
    std::byte* memory_;
};

// f(object, lane) for each active lane, one after another.
template <class F>
const DecodedOp* each_object(const DecodedOp* ip, Warp& w, std::byte* r, F f, bool fresh = false) {
    const auto* address = at<const std::uint64_t>(r, ip->op[1]);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        Held held(w, ip, lane, address[lane], fresh);
        if (!held) return stop_faulted(w);
        const std::uint64_t before = held.b.bits;
        f(held.b, lane);
        if (held.b.bits != before) held.store();
    }
    return ip + 1;
}

const std::uint32_t* words(const DecodedOp* ip, std::byte* r) {
    return at<const std::uint32_t>(r, ip->op[2]);
}

[[gnu::noinline]] const DecodedOp* init(const DecodedOp* ip, Warp& w, std::byte* r) {
    const std::uint32_t* count = words(ip, r);
    const bool v1 = ip->imm != 0;
    const std::uint32_t most = (1u << (v1 ? Mbarrier::counts_of_v1 : Mbarrier::counts)) - 1;
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        if (count[lane] != 0 && count[lane] <= most) continue;
        w.block->fault(w, ip, Fault::Kind::illegal_instruction, lane,
                       v1 ? "mbarrier.init.layout::v1 needs a count from 1 to 2^9 - 1"
                          : "mbarrier.init needs a count from 1 to 2^20 - 1",
                       count[lane]);
        return stop_faulted(w);
    }
    return each_object(
        ip, w, r, [&](Mbarrier& b, unsigned lane) { b = initialised(count[lane], v1); }, true);
}

[[gnu::noinline]] const DecodedOp* check_layout(const DecodedOp* ip, Warp& w, std::byte* r) {
    std::uint32_t same = 0;
    const DecodedOp* next = each_object(ip, w, r, [&](Mbarrier& b, unsigned lane) {
        const bool v1 = (b.bits & Mbarrier::v1) != 0;
        same |= static_cast<std::uint32_t>(v1 == (ip->imm != 0)) << lane;
    });
    std::uint32_t& p = bits_at(r, ip->op[0]);
    p = (p & ~w.mask) | (same & w.mask);
    return next;
}

[[gnu::noinline]] const DecodedOp* inval(const DecodedOp* ip, Warp& w, std::byte* r) {
    // libcu++'s tests invalidate an object twice, which has no effect on a GPU.
    return each_object(
        ip, w, r, [](Mbarrier& b, unsigned) { b.bits = 0; }, true);
}

template <int Sign>
[[gnu::noinline]] const DecodedOp* transactions(const DecodedOp* ip, Warp& w, std::byte* r) {
    const std::uint32_t* count = words(ip, r);
    return each_object(ip, w, r, [&](Mbarrier& b, unsigned lane) {
        b.add_transactions(Sign > 0 ? std::uint64_t{count[lane]} : 0 - std::uint64_t{count[lane]});
        if (Sign < 0) b.settle();
    });
}

// The result is the object's state before the arrival. op[2]: bytes with Expect, else the arrival
// count.
template <bool Drop, bool Expect>
[[gnu::noinline]] const DecodedOp* arrive(const DecodedOp* ip, Warp& w, std::byte* r) {
    const std::uint32_t* operand = words(ip, r);
    auto* state = at<std::uint64_t>(r, ip->op[0]);
    return each_object(ip, w, r, [&](Mbarrier& b, unsigned lane) {
        const std::uint64_t count = Expect ? 1 : operand[lane];
        const std::uint64_t given = b.bits;
        if (Expect) b.add_transactions(operand[lane]);
        if (Drop) b.set_expected(b.expected() - count);
        b.set_pending(b.pending() - count);
        b.settle();
        state[lane] = given;
    });
}

// Arrives when the thread's copies are complete, which is now. Without .noinc the pending count
// rises first.
[[gnu::noinline]] const DecodedOp* arrive_copied(const DecodedOp* ip, Warp& w, std::byte* r) {
    return each_object(ip, w, r, [](Mbarrier&, unsigned) {});
}
[[gnu::noinline]] const DecodedOp* arrive_counted(const DecodedOp* ip, Warp& w, std::byte* r) {
    return each_object(ip, w, r, [](Mbarrier& b, unsigned) {
        b.set_pending(b.pending() - 1);
        b.settle();
    });
}

// No operation of this device reports to an mbarrier. So the report of a phase is zero in both
// layouts, and the conditional phase ends with the primary phase.
[[gnu::noinline]] const DecodedOp* report(const DecodedOp* ip, Warp& w, std::byte* r) {
    bits_at(r, ip->op[0]) &= ~w.mask;
    auto* value = at<std::uint8_t>(r, ip->op[2]);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) value[__builtin_ctz(m)] = 0;
    return ip + 1;
}

// A wait yields the time slice, a successful wait as well. Copies and products are done at once. So
// a warp that issues them would complete two phases before other warps have waited for the first.
template <bool Parity, bool Waits>
[[gnu::noinline]] const DecodedOp* test(const DecodedOp* ip, Warp& w, std::byte* r) {
    const std::uint32_t* parity = words(ip, r);
    const auto* state = at<const std::uint64_t>(r, ip->op[2]);
    std::uint32_t done = 0;
    const DecodedOp* next = each_object(ip, w, r, [&](Mbarrier& b, unsigned lane) {
        const bool now = (b.bits & Mbarrier::phase) != 0;
        const bool asked = Parity ? (parity[lane] & 1) != 0 : (state[lane] & Mbarrier::phase) != 0;
        done |= static_cast<std::uint32_t>(now != asked) << lane;
    });
    std::uint32_t& p = bits_at(r, ip->op[0]);
    p = (p & ~w.mask) | (done & w.mask);
    if (!Waits || next != ip + 1) return next;
    w.budget = 0;  // a guarded wait yields at the next branch backwards
    return is_guarded(ip) ? next : end_time_slice(w, next);
}

[[gnu::noinline]] const DecodedOp* pending(const DecodedOp* ip, Warp& w, std::byte* r) {
    const auto* state = at<const std::uint64_t>(r, ip->op[2]);
    auto* count = at<std::uint32_t>(r, ip->op[0]);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        count[lane] = static_cast<std::uint32_t>(Mbarrier{state[lane]}.pending());
    }
    return ip + 1;
}

// The ranges may overlap, and may be empty with null addresses.
void move_bytes(std::uint64_t to, std::uint64_t from, std::uint32_t bytes) {
    if (bytes != 0)
        std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
}

// Copies to several blocks of the cluster, and reports the bytes to each block's mbarrier.
[[gnu::noinline]] const DecodedOp* multicast(const DecodedOp* ip, Warp& w, std::byte* r) {
    BlockState& block = block_of(w);
    const auto* to = at<const std::uint64_t>(r, ip->op[1]);
    const auto* from = at<const std::uint64_t>(r, ip->op[2]);
    const auto* size = at<const std::uint32_t>(r, ip->op[3]);
    const auto* object = at<const std::uint64_t>(r, ip->op[4]);
    const auto* blocks = at<const std::uint16_t>(r, ip->op[5]);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        if (!block.bulk(w, ip, lane, from[lane], size[lane], false)) return stop_faulted(w);
        for (std::uint32_t left = blocks[lane]; left != 0; left &= left - 1) {
            const auto rank = static_cast<unsigned>(__builtin_ctz(left));
            const std::uint64_t copy = place_in_block(block, rank, to[lane]);
            if (!block.bulk(w, ip, lane, copy, size[lane], true)) return stop_faulted(w);
            move_bytes(copy, from[lane], size[lane]);
            if (!report_bytes(w, ip, lane, place_in_block(block, rank, object[lane]), size[lane]))
                return stop_faulted(w);
        }
    }
    return ip + 1;
}

[[gnu::noinline]] const DecodedOp* masked(const DecodedOp* ip, Warp& w, std::byte* r) {
    const auto* to = at<const std::uint64_t>(r, ip->op[1]);
    const auto* from = at<const std::uint64_t>(r, ip->op[2]);
    const auto* size = at<const std::uint32_t>(r, ip->op[3]);
    const auto* bytes = at<const std::uint16_t>(r, ip->op[4]);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        if (!w.block->bulk(w, ip, lane, to[lane], size[lane], true) ||
            !w.block->bulk(w, ip, lane, from[lane], size[lane], false))
            return stop_faulted(w);
        for (std::uint32_t n = 0; n < size[lane]; ++n)
            if ((bytes[lane] >> n % 16 & 1) != 0) move_bytes(to[lane] + n, from[lane] + n, 1);
    }
    return ip + 1;
}

// The bytes that may be out of bounds are not copied: PTX leaves them open.
[[gnu::noinline]] const DecodedOp* inside(const DecodedOp* ip, Warp& w, std::byte* r) {
    const auto* to = at<const std::uint64_t>(r, ip->op[1]);
    const auto* from = at<const std::uint64_t>(r, ip->op[2]);
    const auto* size = at<const std::uint32_t>(r, ip->op[3]);
    const auto* left = at<const std::uint32_t>(r, ip->op[4]);
    const auto* right = at<const std::uint32_t>(r, ip->op[5]);
    BlockState& block = block_of(w);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        if (left[lane] > 15 || right[lane] > 15 || from[lane] % 16 != 0) {
            block.fault(w, ip, Fault::Kind::illegal_instruction, lane,
                        "cp.async.bulk.ignore_oob leaves out at most 15 bytes at either end of "
                        "memory that is aligned to 16 bytes",
                        from[lane]);
            return stop_faulted(w);
        }
        if (!block.bulk(w, ip, lane, to[lane], size[lane], true)) return stop_faulted(w);
        const std::uint32_t out = left[lane] + right[lane];
        if (size[lane] <= out) continue;
        if (!block.reach(w, ip, lane, from[lane] + left[lane], size[lane] - out, 1,
                         observe::Touch::read))
            return stop_faulted(w);
        move_bytes(to[lane] + left[lane], from[lane] + left[lane], size[lane] - out);
    }
    return ip + 1;
}

[[gnu::noinline]] const DecodedOp* copy(const DecodedOp* ip, Warp& w, std::byte* r) {
    BlockState& block = block_of(w);
    const auto* to = at<const std::uint64_t>(r, ip->op[1]);
    const auto* from = at<const std::uint64_t>(r, ip->op[2]);
    const auto* size = at<const std::uint32_t>(r, ip->op[3]);
    const std::uint32_t none = bits_at(r, ip->op[4]);
    const auto bytes = static_cast<std::uint32_t>(ip->imm);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        const std::uint32_t read = (none >> lane & 1) ? 0 : size[lane] < bytes ? size[lane] : bytes;
        std::byte* d = block.reach(w, ip, lane, to[lane], bytes, bytes, observe::Touch::write);
        if (!d) return stop_faulted(w);
        if (read != 0) {
            const std::byte* s =
                block.reach(w, ip, lane, from[lane], read, bytes, observe::Touch::read);
            if (!s) return stop_faulted(w);
            std::memmove(d, s, read);
        }
        std::memset(d + read, 0, bytes - read);
    }
    return ip + 1;
}

[[gnu::noinline]] const DecodedOp* bulk(const DecodedOp* ip, Warp& w, std::byte* r) {
    BlockState& block = block_of(w);
    const auto* to = at<const std::uint64_t>(r, ip->op[1]);
    const auto* from = at<const std::uint64_t>(r, ip->op[2]);
    const auto* size = at<const std::uint32_t>(r, ip->op[3]);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        if (!block.bulk(w, ip, lane, to[lane], size[lane], true) ||
            !block.bulk(w, ip, lane, from[lane], size[lane], false))
            return stop_faulted(w);
        move_bytes(to[lane], from[lane], size[lane]);
    }
    return ip + 1;
}

[[gnu::noinline]] const DecodedOp* zeros(const DecodedOp* ip, Warp& w, std::byte* r) {
    BlockState& block = block_of(w);
    const auto* to = at<const std::uint64_t>(r, ip->op[1]);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        const std::uint64_t size = ip->count == 8 ? at<const std::uint64_t>(r, ip->op[3])[lane]
                                                  : at<const std::uint32_t>(r, ip->op[3])[lane];
        std::byte* const begin = block.shared_bytes_at(w, ip, lane, to[lane], size);
        if (!begin) return stop_faulted(w);
        std::memset(begin, 0, size);
    }
    return ip + 1;
}

// Copies are complete: a group has nothing to wait for.
[[gnu::noinline]] const DecodedOp* group(const DecodedOp* ip, Warp&, std::byte*) { return ip + 1; }

}  // namespace

std::uint64_t place_in_block(const BlockState& block, unsigned rank, std::uint64_t address) {
    const std::uint64_t from = address - block.Block::cluster, to = rank * block.cluster_stride;
    if (from >= block.cluster_bytes || to >= block.cluster_bytes) return 0;  // 0 faults
    return block.Block::cluster + to + from % block.cluster_stride;
}

bool report_arrival(Warp& w, const DecodedOp* ip, unsigned lane, std::uint64_t object) {
    Held held(w, ip, lane, object);
    if (!held) return false;
    held.b.set_pending(held.b.pending() - 1);
    held.b.settle();
    held.store();
    return true;
}

bool report_bytes(Warp& w, const DecodedOp* ip, unsigned lane, std::uint64_t object,
                  std::uint32_t bytes) {
    Held held(w, ip, lane, object);
    if (!held) return false;
    held.b.add_transactions(0 - std::uint64_t{bytes});
    held.b.settle();
    held.store();
    return true;
}

Handler mbarrier_handler(AsyncKind kind) {
    switch (kind) {
        case AsyncKind::MbarrierInit:
            return &threaded<&init>;
        case AsyncKind::MbarrierInval:
            return &threaded<&inval>;
        case AsyncKind::MbarrierExpect:
            return &threaded<&transactions<1>>;
        case AsyncKind::MbarrierComplete:
            return &threaded<&transactions<-1>>;
        case AsyncKind::MbarrierArrive:
            return &threaded<&arrive<false, false>>;
        case AsyncKind::MbarrierArriveExpect:
            return &threaded<&arrive<false, true>>;
        case AsyncKind::MbarrierDrop:
            return &threaded<&arrive<true, false>>;
        case AsyncKind::MbarrierDropExpect:
            return &threaded<&arrive<true, true>>;
        case AsyncKind::MbarrierArriveCopied:
            return &threaded<&arrive_copied>;
        case AsyncKind::MbarrierArriveCounted:
            return &threaded<&arrive_counted>;
        case AsyncKind::MbarrierTest:
            return &threaded<&test<false, false>>;
        case AsyncKind::MbarrierTestParity:
            return &threaded<&test<true, false>>;
        case AsyncKind::MbarrierTry:
            return &threaded<&test<false, true>>;
        case AsyncKind::MbarrierTryParity:
            return &threaded<&test<true, true>>;
        case AsyncKind::MbarrierPending:
            return &threaded<&pending>;
        case AsyncKind::MbarrierCheckLayout:
            return &threaded<&check_layout>;
        default:
            return nullptr;
    }
}

const AsyncControl async_control{
    &threaded<&transactions<-1>>,
    &threaded<&report>,
    &threaded<&copy>,
    &threaded<&bulk>,
    &threaded<&multicast>,
    &threaded<&zeros>,
    &threaded<&masked>,
    &threaded<&inside>,
    &threaded<&group>,
};

}  // namespace cupola::cpu::interpreter
