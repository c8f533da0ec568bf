// csrc/cpu/interpreter/cluster.cpp - runs the blocks of a cluster; distributed shared memory.
//
// An address of the .shared::cluster window is an offset in the block's own shared memory. With
// window_bits(rank) it is an offset in the shared memory of the block of that rank, in every block
// of the cluster. A rank other than 0 needs no bit 30. Where a kernel knows ranks, the addresses of
// variables have these bits, except in block 0: programs set and clear bits of the rank, by which
// they get addresses of other blocks.
#include "cpu/interpreter/block.hpp"

#include <algorithm>

#include "cpu/interpreter/control.hpp"
#include "cpu/interpreter/seeded.hpp"

namespace cupola::cpu {

std::unique_ptr<ClusterRunner> ClusterRunner::make(const Launch& launch) {
    if (launch.order) return std::make_unique<interpreter::SeededCluster>(launch);
    return std::make_unique<interpreter::ClusterState>(launch);
}

namespace interpreter {
namespace {

constexpr std::uint64_t offset_mask = (std::uint64_t{1} << rank_shift) - 1;
constexpr std::uint64_t nowhere = ~std::uint64_t{15};  // an invalid address; never mapped

}  // namespace

BlockState* peer_of(const BlockState& block) {
    ClusterState& cluster = block.cluster_state();
    const unsigned rank = block.rank() ^ 1;
    return rank < cluster.size() ? &cluster.block(rank) : nullptr;
}

std::vector<BlockState*> blocks_of_group(BlockState& block, bool pair) {
    if (!pair) return {&block};
    BlockState* const peer = peer_of(block);
    if (!peer) return {};
    const bool odd = (block.rank() & 1) != 0;
    return {odd ? peer : &block, odd ? &block : peer};
}

ClusterState::ClusterState(const Launch& launch)
    : launch_(launch),
      size_(launch.cluster.x * launch.cluster.y * launch.cluster.z),
      in_row_(launch.grid.x / launch.cluster.x),
      in_column_(launch.grid.y / launch.cluster.y) {
    const auto& kernel = static_cast<const KernelCode&>(*launch.kernel);
    const std::uint64_t bytes =
        rounded(kernel.shared_bytes, kernel.shared_align) + launch.dynamic_shared;
    const std::size_t align = std::max<std::size_t>(4096, kernel.shared_align);
    stride_ = rounded(bytes == 0 ? 1 : bytes, align);
    memory_ = pages(size_ * stride_, align);
    shared_ = reinterpret_cast<std::uintptr_t>(memory_.get());
    blocks_.reserve(size_);
    for (unsigned rank = 0; rank < size_; ++rank)
        blocks_.push_back(std::make_unique<BlockState>(launch, *this, rank, bytes));
}

// Returns three numbers: compilers store a Dim3 argument in parts, and the wide load of it then
// stalls until these stores retire.
void ClusterState::locate(std::uint64_t cluster, std::uint32_t& x, std::uint32_t& y,
                          std::uint32_t& z) const {
    x = static_cast<std::uint32_t>(cluster);
    y = z = 0;
    if (cluster < in_row_) return;
    x = static_cast<std::uint32_t>(cluster % in_row_);
    y = static_cast<std::uint32_t>(cluster / in_row_ % in_column_);
    z = static_cast<std::uint32_t>(cluster / in_row_ / in_column_);
}

void ClusterState::begin(std::uint64_t cluster) {
    std::uint32_t x, y, z;
    locate(cluster, x, y, z);
    id_ = {x, y, z};
    used_ = news_ = false;
    fault_.reset();
    if (size_ == 1) return blocks_[0]->begin(x, y, z);
    const Dim3& shape = launch_.cluster;
    for (unsigned rank = 0; rank < size_; ++rank)
        blocks_[rank]->begin(x * shape.x + rank % shape.x, y * shape.y + rank / shape.x % shape.y,
                             z * shape.z + rank / shape.x / shape.y);
}

std::uint64_t ClusterState::run_block_batch(std::uint64_t first, std::uint64_t end) {
    if (size_ != 1) return 0;
    std::uint32_t x, y, z;
    locate(first, x, y, z);
    const std::uint64_t count = std::min(end - first, in_row_ - x);
    return blocks_[0]->run_block_batch(x, y, z, static_cast<std::uint32_t>(count));
}

ClusterRunner::Progress ClusterState::advance() {
    bool moved = false, live = false;
    for (const auto& block : blocks_) {
        if (block->done()) continue;
        const BlockState::Turn turn = block->turn();
        if (turn == BlockState::Turn::faulted) {
            fault_ = block->take_fault();
            return Progress::faulted;
        }
        moved |= turn == BlockState::Turn::moved;
        live |= !block->done();
    }
    return progress_of(moved, live);
}

ClusterRunner::Progress ClusterState::progress_of(bool moved, bool live) {
    if (!live) return Progress::done;
    if (news_) moved |= release_if_complete();
    return moved ? Progress::running : stuck();
}

// No block can run: the launch is being stopped, or lanes wait for lanes that wait at another
// place, or for barriers that other lanes never reach.
ClusterRunner::Progress ClusterState::stuck() {
    for (const auto& block : blocks_)
        if (!block->done() && !block->stopped() && block->force()) return Progress::running;
    for (const auto& block : blocks_) {
        if (block->done()) continue;
        block->give_up();
        fault_ = block->take_fault();
        break;
    }
    return Progress::faulted;
}

void ClusterState::use_barrier() {
    used_ = true;
    for (const auto& block : blocks_) block->awaited = true;
}

bool ClusterState::release_if_complete() {
    news_ = false;
    for (const auto& block : blocks_)
        for (unsigned n = 0; n < block->warp_count; ++n) {
            const Warp& w = block->warp(n);
            if ((w.live & ~w.arrived) != 0) return false;
        }
    for (const auto& block : blocks_) {
        for (unsigned n = 0; n < block->warp_count; ++n) block->warp(n).arrived = 0;
        block->wake(cluster_barrier);
    }
    return true;
}

namespace {

const DecodedOp* arrive(const DecodedOp* ip, Warp& w, std::byte*) {
    ClusterState& cluster = block_of(w).cluster_state();
    cluster.use_barrier();
    cluster.arrive(w);
    return ip + 1;
}

// Lanes whose phase of the barrier is complete continue. Lanes that never arrived continue, too,
// which PTX leaves undefined.
const DecodedOp* wait(const DecodedOp* ip, Warp& w, std::byte*) {
    const std::uint32_t early = w.mask & w.arrived;
    if (early == 0) return ip + 1;
    w.waiting[w.waiting_count++] = {early, ip + 1, ip, cluster_barrier, 0};
    if (early != w.mask) make_ready(w, w.mask & ~early, ip + 1);
    return pick(w);
}

// ---- addresses ----------------------------------------------------------------------------

// A position in the cluster's shared memory.
struct SharedPlace {
    unsigned rank;
    std::uint64_t offset;
};

std::optional<SharedPlace> place_of_window(const BlockState& block, std::uint64_t address) {
    const std::uint64_t part = address & ~offset_mask, offset = address & offset_mask;
    const std::uint64_t rank = part == 0 ? block.rank() : (part & ~window_bits(0)) >> rank_shift;
    if (rank >= block.cluster_state().size() || offset > block.shared_bytes) return std::nullopt;
    return SharedPlace{static_cast<unsigned>(rank), offset};
}
std::optional<SharedPlace> place_of_generic(const BlockState& block, std::uint64_t address) {
    const ClusterState& cluster = block.cluster_state();
    const std::uint64_t from = address - block.cluster;
    if (from / cluster.stride() >= cluster.size()) return std::nullopt;
    return SharedPlace{static_cast<unsigned>(from / cluster.stride()), from % cluster.stride()};
}

// Includes the rank even of the block itself: the address may be passed to other blocks.
std::uint64_t window_address(unsigned rank, std::uint64_t offset) {
    return window_bits(rank) | offset;
}
std::uint64_t shared_address(const BlockState& block, unsigned rank, std::uint64_t offset) {
    const ClusterState& cluster = block.cluster_state();
    return rank < cluster.size() ? cluster.shared_of(rank) + offset : nowhere;
}

// f(lane, address) for each active lane; op[1] holds the addresses.
template <class T, class F>
const DecodedOp* each_address(const DecodedOp* ip, Warp& w, std::byte* r, F f) {
    const T* a = at<const T>(r, ip->op[1]);
    for (std::uint32_t m = w.mask; m != 0; m &= m - 1) {
        const auto lane = static_cast<unsigned>(__builtin_ctz(m));
        f(lane, static_cast<T>(a[lane] + static_cast<T>(ip->imm)));
    }
    return ip + 1;
}

template <class T>
const DecodedOp* to_generic(const DecodedOp* ip, Warp& w, std::byte* r) {
    const BlockState& block = block_of(w);
    auto* d = at<std::uint64_t>(r, ip->op[0]);
    return each_address<T>(ip, w, r, [&](unsigned lane, T address) {
        const auto place = place_of_window(block, address);
        d[lane] = place ? shared_address(block, place->rank, place->offset) : nowhere;
    });
}
[[gnu::noinline]] const DecodedOp* generic_of_window(const DecodedOp* ip, Warp& w, std::byte* r) {
    return ip->flags & flag::address32 ? to_generic<std::uint32_t>(ip, w, r)
                                       : to_generic<std::uint64_t>(ip, w, r);
}

[[gnu::noinline]] const DecodedOp* window_of_generic(const DecodedOp* ip, Warp& w, std::byte* r) {
    const BlockState& block = block_of(w);
    auto* d = at<std::uint64_t>(r, ip->op[0]);
    return each_address<std::uint64_t>(ip, w, r, [&](unsigned lane, std::uint64_t address) {
        const auto place = place_of_generic(block, address);
        d[lane] = place ? window_address(place->rank, place->offset) : nowhere;
    });
}

[[gnu::noinline]] const DecodedOp* map_generic(const DecodedOp* ip, Warp& w, std::byte* r) {
    const BlockState& block = block_of(w);
    auto* d = at<std::uint64_t>(r, ip->op[0]);
    const auto* rank = at<const std::uint32_t>(r, ip->op[2]);
    return each_address<std::uint64_t>(ip, w, r, [&](unsigned lane, std::uint64_t address) {
        const auto place = place_of_generic(block, address);
        d[lane] = place ? shared_address(block, rank[lane], place->offset) : nowhere;
    });
}

template <class T>
[[gnu::noinline]] const DecodedOp* map_window(const DecodedOp* ip, Warp& w, std::byte* r) {
    const BlockState& block = block_of(w);
    T* d = at<T>(r, ip->op[0]);
    const auto* rank = at<const std::uint32_t>(r, ip->op[2]);
    return each_address<T>(ip, w, r, [&](unsigned lane, T address) {
        const auto place = place_of_window(block, address);
        const bool there = place && rank[lane] < block.cluster_state().size();
        d[lane] = static_cast<T>(there ? window_address(rank[lane], place->offset) : nowhere);
    });
}

template <class T, bool Generic>
[[gnu::noinline]] const DecodedOp* rank_of(const DecodedOp* ip, Warp& w, std::byte* r) {
    const BlockState& block = block_of(w);
    auto* d = at<std::uint32_t>(r, ip->op[0]);
    return each_address<T>(ip, w, r, [&](unsigned lane, T address) {
        const auto place =
            Generic ? place_of_generic(block, address) : place_of_window(block, address);
        d[lane] = place ? place->rank : ~0u;
    });
}

}  // namespace

const ClusterControl cluster_control{
    {&threaded<&arrive>, Pseudo::cluster_arrive},
    {&threaded<&wait>, Pseudo::cluster_wait},
    &threaded<&generic_of_window>,
    &threaded<&window_of_generic>,
    &threaded<&map_generic>,
    &threaded<&map_window<std::uint32_t>>,
    &threaded<&map_window<std::uint64_t>>,
    &threaded<&rank_of<std::uint64_t, true>>,
    &threaded<&rank_of<std::uint32_t, false>>,
    &threaded<&rank_of<std::uint64_t, false>>,
};

}  // namespace interpreter
}  // namespace cupola::cpu
