// csrc/cpu/interpreter/tensor_allocation.cpp - tcgen05.alloc and dealloc, and tcgen05.commit.
#include <cstring>
#include <optional>
#include <string>

#include "cpu/interpreter/async.hpp"
#include "cpu/interpreter/block.hpp"

namespace cupola::cpu::interpreter {
namespace {

// The number of columns in op[2]; 0: a fault has been noted.
unsigned columns_of(const DecodedOp* ip, Warp& w, std::byte* r) {
    const auto* count = at<const std::uint32_t>(r, ip->op[2]);
    const std::uint32_t first = count[__builtin_ctz(w.mask)];
    if (is_uniform(w, count) && ptx::is_column_count(first)) return first;
    stop_at_fault(ip, w, FaultKind::illegal_instruction,
                  "the lanes of a warp must have the same number of columns, which must be 32, 64, "
                  "128, 256 or 512; the first lane has " +
                      std::to_string(first));
    return 0;
}

// Each kind of wait has a handler of its own, by which the race check tells them apart.
enum class TensorWait : std::uint8_t { loads, stores };

bool is_pair(const DecodedOp* ip) { return ip->imm != 0; }

// The columns that a warp of each block of the pair allocates; nothing: the warp has to wait, or
// `why` says what is wrong. The warp that comes second allocates for both.
std::optional<unsigned> allocate_with_peer(const DecodedOp* ip, Warp& w, unsigned count,
                                           std::string& why) {
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
    own.request = TensorMemory::Request{w.index, count, std::nullopt};
    TensorMemory& other = peer->tensor_memory();
    if (!other.request || other.request->first) return std::nullopt;
    if (other.request->count != count) {
        why = "the warps of a pair must allocate the same number of columns, got " +
              std::to_string(count) + " and " + std::to_string(other.request->count);
        return std::nullopt;
    }
    const auto first =
        TensorMemory::allocate_both(own, w.index, other, other.request->warp, count, ip);
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
    const unsigned count = columns_of(ip, w, r);
    if (count == 0) return stop_faulted(w);
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
    const auto first = is_pair(ip) ? allocate_with_peer(ip, w, count, why)
                                   : block.tensor_memory().allocate(count, w.index, ip);
    if (!why.empty()) return stop_at_fault(ip, w, FaultKind::illegal_instruction, why);
    if (!first) {
        w.waiting[w.waiting_count++] = {w.mask, ip, ip, free_columns, 0};
        return pick(w);
    }
    std::memcpy(result, &*first, 4);
    block.forget_columns(*first, count);
    return ip + 1;
}

[[gnu::noinline]] const DecodedOp* release_columns(const DecodedOp* ip, Warp& w, std::byte* r) {
    if (!whole_warp(w)) return wait_for_lanes(w, all_lanes, ip, ip);
    BlockState& block = block_of(w);
    const unsigned count = columns_of(ip, w, r);
    if (count == 0) return stop_faulted(w);
    const auto* address = at<const std::uint32_t>(r, ip->op[1]);
    const TensorPlace place(address[__builtin_ctz(w.mask)]);
    if (!is_uniform(w, address) || place.lane != 0 ||
        !block.tensor_memory().release(place.column, count))
        return stop_at_fault(ip, w, FaultKind::illegal_address,
                             "tcgen05.dealloc of " + columns_text(place.column, count) +
                                 ", which no tcgen05.alloc of the block returned");
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
