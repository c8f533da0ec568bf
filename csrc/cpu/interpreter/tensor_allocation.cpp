// csrc/cpu/interpreter/tensor_allocation.cpp - tcgen05.alloc and dealloc, and tcgen05.commit.
#include <cstring>
#include <optional>
#include <string>

#include "cpu/interpreter/async.hpp"
#include "cpu/interpreter/block.hpp"

namespace cupola::cpu::interpreter {
namespace {

// imm of an allocation: a pair of blocks, an exclusive allocation.
bool is_pair(const DecodedOp* ip) { return (ip->imm & 1) != 0; }
bool is_exclusive(const DecodedOp* ip) { return (ip->imm & 2) != 0; }

// The columns in op[2]; nothing: a fault has been noted.
std::optional<TensorMemory::Wanted> wanted_by(const DecodedOp* ip, Warp& w, std::byte* r) {
    const auto* count = at<const std::uint32_t>(r, ip->op[2]);
    const std::uint32_t first = count[__builtin_ctz(w.mask)];
    const bool exclusive = is_exclusive(ip);
    if (is_uniform(w, count) && ptx::is_column_count(first, exclusive) &&
        first <= TensorMemory::column_count)
        return TensorMemory::Wanted{first, exclusive};
    const std::string numbers =
        exclusive ? "a multiple of 32 up to 512" : "32, 64, 128, 256 or 512";
    stop_at_fault(ip, w, FaultKind::illegal_instruction,
                  "the lanes of a warp must have the same number of columns, which must be " +
                      numbers + "; the first lane has " + std::to_string(first));
    return std::nullopt;
}

// Each kind of wait has a handler of its own, by which the race check tells them apart.
enum class TensorWait : std::uint8_t { loads, stores };

// The columns that a warp of each block of the pair allocates; nothing: the warp has to wait, or
// `why` says what is wrong. The warp that comes second allocates for both.
std::optional<unsigned> allocate_with_peer(const DecodedOp* ip, Warp& w,
                                           const TensorMemory::Wanted& wanted, std::string& why) {
    TensorMemory& own = block_of(w).tensor_memory();
    BlockState* const peer = peer_of(block_of(w));
    if (!peer) {
        why = no_peer;
        return std::nullopt;
    }
    if (own.request && own.request->warp != w.index) return std::nullopt;
    if (own.request && own.request->first) {
        const auto first = own.request->first;
        own.request.reset();
        block_of(w).wake(free_columns);
        return first;
    }
    own.request = TensorMemory::Request{w.index, wanted, std::nullopt};
    TensorMemory& other = peer->tensor_memory();
    if (!other.request || other.request->first) return std::nullopt;
    const TensorMemory::Wanted& theirs = other.request->wanted;
    if (theirs.count != wanted.count)
        why = "the warps of a pair must allocate the same number of columns, got " +
              std::to_string(wanted.count) + " and " + std::to_string(theirs.count);
    else if (theirs.exclusive != wanted.exclusive)
        why = "one warp of a pair allocates with .exclusive, the other one without";
    if (!why.empty()) return std::nullopt;
    const auto first =
        TensorMemory::allocate_both(own, w.index, other, other.request->warp, wanted, ip);
    if (!first) return first;
    other.request->first = first;
    own.request.reset();
    peer->wake(free_columns);
    block_of(w).wake(free_columns);
    return first;
}

[[gnu::noinline]] const DecodedOp* allocate_columns(const DecodedOp* ip, Warp& w, std::byte* r) {
    if (!whole_warp(w)) return wait_for_lanes(w, all_lanes, ip, ip);
    BlockState& block = block_of(w);
    const auto wanted = wanted_by(ip, w, r);
    if (!wanted) return stop_faulted(w);
    if (block.tensor_memory().relinquished())
        return stop_at_fault(ip, w, FaultKind::illegal_instruction,
                             "tcgen05.alloc after tcgen05.relinquish_alloc_permit");
    const auto lane = static_cast<unsigned>(__builtin_ctz(w.mask));
    const std::uint64_t to = at<const std::uint64_t>(r, ip->op[1])[lane];
    std::byte* const result = block.reach(w, ip, lane, to, 4, 4, observe::Touch::write);
    if (!result) return stop_faulted(w);
    if (!fits(to - block.shared, 4, block.shared_bytes))
        return stop_at_fault(ip, w, FaultKind::illegal_address,
                             "tcgen05.alloc writes to the shared memory of its block alone");
    std::string why;
    const auto first = is_pair(ip) ? allocate_with_peer(ip, w, *wanted, why)
                                   : block.tensor_memory().allocate(*wanted, w.index, ip);
    if (!why.empty()) return stop_at_fault(ip, w, FaultKind::illegal_instruction, why);
    if (!first) {
        w.waiting[w.waiting_count++] = {w.mask, ip, ip, free_columns, 0};
        return pick(w);
    }
    std::memcpy(result, &*first, 4);
    block.forget_columns(*first, wanted->count);
    return ip + 1;
}

[[gnu::noinline]] const DecodedOp* release_columns(const DecodedOp* ip, Warp& w, std::byte* r) {
    if (!whole_warp(w)) return wait_for_lanes(w, all_lanes, ip, ip);
    BlockState& block = block_of(w);
    const auto wanted = wanted_by(ip, w, r);
    if (!wanted) return stop_faulted(w);
    const auto* address = at<const std::uint32_t>(r, ip->op[1]);
    const TensorPlace place(address[__builtin_ctz(w.mask)]);
    if (!is_uniform(w, address) || place.lane != 0 ||
        !block.tensor_memory().release(place.column, *wanted))
        return stop_at_fault(
            ip, w, FaultKind::illegal_address,
            std::string("tcgen05.dealloc") + (wanted->exclusive ? ".exclusive" : "") + " of " +
                columns_text(place.column, wanted->count) + ", which no tcgen05.alloc" +
                (wanted->exclusive ? ".exclusive" : "") + " of the block returned");
    block.wake(free_columns);
    if (BlockState* const peer = is_pair(ip) ? peer_of(block) : nullptr) peer->wake(free_columns);
    return ip + 1;
}

[[gnu::noinline]] const DecodedOp* relinquish(const DecodedOp* ip, Warp& w, std::byte*) {
    if (!whole_warp(w)) return wait_for_lanes(w, all_lanes, ip, ip);
    block_of(w).tensor_memory().relinquish();
    return ip + 1;
}

// The operations before it are complete, so each lane arrives now.
[[gnu::noinline]] const DecodedOp* commit(const DecodedOp* ip, Warp& w, std::byte* r) {
    BlockState& block = block_of(w);
    const auto* object = at<const std::uint64_t>(r, ip->op[1]);
    const auto* blocks = at<const std::uint16_t>(r, ip->op[2]);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        if (ip->op[2] == 0) {
            if (!report_arrival(w, ip, lane, object[lane])) return stop_faulted(w);
            continue;
        }
        for (std::uint32_t left = blocks[lane]; left != 0; left &= left - 1) {
            const auto rank = static_cast<unsigned>(__builtin_ctz(left));
            if (!report_arrival(w, ip, lane, place_in_block(block, rank, object[lane])))
                return stop_faulted(w);
        }
    }
    return ip + 1;
}

template <TensorWait>
[[gnu::noinline]] const DecodedOp* wait_for_accesses(const DecodedOp* ip, Warp&, std::byte*) {
    return ip + 1;
}

}  // namespace

const DecodedOp* stop_at_fault(const DecodedOp* ip, Warp& w, FaultKind kind,
                               const std::string& what) {
    block_of(w).fault_text(w, ip, kind, static_cast<unsigned>(__builtin_ctz(w.mask)), what);
    return stop_faulted(w);
}

const TensorMemoryControl tensor_memory_control{
    &threaded<&allocate_columns>,
    &threaded<&release_columns>,
    &threaded<&relinquish>,
    &threaded<&load_columns>,
    &threaded<&store_columns>,
    &threaded<&multiply_columns>,
    &threaded<&copy_columns>,
    &threaded<&shift_rows>,
    &threaded<&commit>,
    &threaded<&wait_for_accesses<TensorWait::loads>>,
    &threaded<&wait_for_accesses<TensorWait::stores>>,
};

}  // namespace cupola::cpu::interpreter
