// csrc/cpu/interpreter/block.hpp - a running block, with warps, barriers and memory, and its
// cluster.
//
// Register files and local memory are reused from block to block. The shared memories of a
// cluster's blocks are contiguous. A launch without clusters has clusters of one block.
#pragma once

#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cpu/interpreter/execute.hpp"
#include "cpu/interpreter/kernel.hpp"
#include "cpu/interpreter/tensor_memory.hpp"
#include "cpu/interpreter/texture_view.hpp"
#include "cpu/observe/observer.hpp"

namespace cupola::cpu::interpreter {

struct FreeDeleter {
    void operator()(void* p) const { std::free(p); }
};
template <class T>
using Aligned = std::unique_ptr<T, FreeDeleter>;

// Whole pages, uninitialized. Throws std::bad_alloc.
Aligned<std::byte> pages(std::size_t bytes, std::size_t align = 4096);

// Value of Waiting::barrier for the cluster's barrier; the block's barriers are 0 to 15.
inline constexpr std::int32_t cluster_barrier = 16;
// As above, for lanes that wait for columns of tensor memory.
inline constexpr std::int32_t free_columns = 17;

class ClusterState;
class BlockState;

// The other block of a block's pair, for cta_group::2; null if the cluster has no such block.
BlockState* peer_of(const BlockState& block);
// The blocks of a block's cta_group by their ranks: the block alone, or its pair. None: it needs a
// peer, and has none.
std::vector<BlockState*> blocks_of_group(BlockState& block, bool pair);

// %tid of a warp's lanes.
struct ThreadIndices {
    std::uint32_t x[lanes], y[lanes], z[lanes];
};

class BlockState final : public Block {
  public:
    // `own`: bytes of the block's shared memory, which the cluster owns.
    BlockState(const Launch& launch, ClusterState& cluster, unsigned rank, std::uint64_t own);
    BlockState(const BlockState&) = delete;
    BlockState& operator=(const BlockState&) = delete;
    ~BlockState();  // adds the block's counts to the counts of the module
    void begin(std::uint32_t x, std::uint32_t y, std::uint32_t z);
    // Runs up to `count` blocks of a row in one call of machine code. Returns how many it ran. The
    // next block may be done in part, which begin() takes into account.
    std::uint32_t run_block_batch(std::uint32_t x, std::uint32_t y, std::uint32_t z,
                                  std::uint32_t count);
    // Runs each warp that is ready for one time slice.
    enum class Turn { moved, stuck, faulted };
    Turn turn();
    // As turn(), for one warp that the launch's seeded order selects.
    Turn seeded_turn();
    bool done() const { return live_warps == 0; }
    void make_deferred_updates() {
        deferred.make_all();
        deferred.credit = DeferredUpdates::full_credit;
    }
    // Called when every warp is blocked: releases lanes that wait for others of their warp, or
    // returns false.
    bool force();
    void give_up();
    Fault take_fault() { return std::move(*fault_); }
    bool is_outdated() const {
        return !stepped_ && native_ != kernel_.native->ready.load(std::memory_order_relaxed);
    }

    bool resolve(Warp& w, const DecodedOp* ip, unsigned bytes, bool write) override;
    void fault(Warp& w, const DecodedOp* ip, Fault::Kind kind, unsigned lane, const char* what,
               std::uint64_t address) override;
    bool is_constant(std::uintptr_t address) const override;
    // A part of this block's shared memory that st.bulk writes. Null: a fault has been noted.
    std::byte* shared_bytes_at(Warp& w, const DecodedOp* ip, unsigned lane, std::uint64_t address,
                               std::uint64_t bytes);
    bool bulk(Warp& w, const DecodedOp* ip, unsigned lane, std::uint64_t address,
              std::uint64_t bytes, bool write) override;

    bool stopped() const { return launch_.stop && launch_.stop->load(std::memory_order_relaxed); }
    // Whether other warps, or blocks that share the thread, wait for the warp's time slice to end.
    bool others_live(const Warp& w) const { return !alone || live_warps > (w.live != 0 ? 1u : 0u); }
    // The unit is the cost of backward branches. A turn is short where blocks share a thread, so
    // that a block that polls does not delay the other blocks. Machine code executes more in the
    // same time.
    std::int32_t turn_length() const { return !alone ? 1 << 11 : native_ ? 1 << 17 : 1 << 14; }
    const KernelCode& kernel() const { return kernel_; }
    const DecodedOp* code() const { return code_; }  // the warps' pcs point into it
    const Launch& launch() const { return launch_; }
    ClusterState& cluster_state() const { return cluster_; }
    unsigned rank() const { return rank_; }
    // Whether an observer sees accesses and barriers. Shortcuts that hide them are then not taken.
    bool effects_are_seen() const { return effects_are_seen_; }
    // Calls `f` with each observer of the block.
    template <class F>
    void notify(F f) const {
        for (auto* each = observer_.get(); each; each = each->next.get()) f(*each);
    }
    // Reports an access to the observers, which see plain loads, stores and atomics themselves.
    void touch(const Warp& w, const DecodedOp* ip, unsigned lane, std::uint64_t address,
               std::uint64_t bytes, observe::Touch how) const {
        notify([&](auto& each) { each.touch(w, ip, lane, address, bytes, how); });
    }
    Warp& warp(unsigned n) { return warps_.get()[n]; }
    // The number of wgmma.mma_async that each warp has executed in this block.
    std::vector<std::uint32_t>& products() { return products_; }
    // Made at its first use.
    TensorMemory& tensor_memory();
    // A thread reads a place that the block owns.
    std::uint32_t read_tensor_memory(const Warp& w, const DecodedOp* ip, unsigned thread_lane,
                                     unsigned lane, unsigned column) const;

    // An address has another lane than those of the warp, which it uses.
    void notify_other_lanes(const Warp& w, const DecodedOp* ip, unsigned lane,
                            unsigned first) const;

    // Reports accesses to columns of tensor memory. Observers see the addresses of their cells.
    void touch_columns(const Warp& w, const DecodedOp* ip, unsigned thread_lane, unsigned lane,
                       unsigned column, unsigned count, observe::Touch how) const;
    // Columns were allocated: observers forget earlier accesses.
    void forget_columns(unsigned first, unsigned count) const;
    // "lane 3, column 8 of tensor memory" for the address of a cell of this block or of its peer;
    // empty for another address.
    std::string cell_text(std::uint64_t address) const;

    TextureView* texture(std::uint64_t handle) { return textures_.find(handle, launch_); }

    // barrier.cpp
    const DecodedOp* arrive_at(Warp& w, const DecodedOp* ip, std::uint32_t id, std::uint32_t count,
                               bool waits, std::uint32_t yes);
    const DecodedOp* exit_lanes(Warp& w);
    bool release_if_complete(unsigned id);
    void wake(std::int32_t barrier);  // the warps that wait at the barrier
    // Text that names a thread of a block, and a line of the PTX with its source line.
    std::string thread_text(const Dim3& block, unsigned thread) const;
    std::string line_text(std::uint32_t line) const;
    void fault_text(Warp& w, const DecodedOp* ip, Fault::Kind kind, unsigned lane,
                    const std::string& what);
    // Adds Fault::assertion to the fault. `place`: its lines of file, line and function.
    void describe_assertion(const Warp& w, unsigned lane, const std::string& place,
                            const std::string& expression);

    // memory.cpp: checks access to `bytes` bytes of any size. Returns nullptr if access is not
    // allowed; a fault has then been noted. `align` is a power of two.
    std::byte* reach(Warp& w, const DecodedOp* ip, unsigned lane, std::uint64_t address,
                     std::uint64_t bytes, std::uint64_t align, observe::Touch how);
    // The end of the readable memory that begins at `address`; 0 if the memory at `address` is not
    // readable.
    std::uintptr_t readable_until(const Warp& w, unsigned lane, std::uintptr_t address) const;
    std::byte* local_of(const Warp& w, unsigned lane) const {
        return reinterpret_cast<std::byte*>(local) +
               (std::uint64_t{w.index} * lanes + lane) * local_bytes;
    }
    // Whether an address is of a thread's local memory, or of the parameters.
    bool is_own(std::uint64_t address) const {
        const std::uint64_t warps = (threads_ + lanes - 1) / lanes;
        return address - local < warps * lanes * local_bytes ||
               address - parameters < parameter_bytes;
    }
    // Whether an address is of the cluster's shared memory.
    bool is_shared(std::uint64_t address) const { return address - cluster < cluster_bytes; }

  private:
    bool leaks_columns();
    void start(Warp& w, unsigned index);
    std::byte* new_file(unsigned index);
    using Specials = std::vector<std::pair<unsigned, std::int32_t>>;
    void write_specials(const Specials& specials, unsigned index, std::byte* file);
    void enter(Warp& w);
    void run_native(const DecodedOp* ip);
    void run_seeded(const DecodedOp* ip);
    void run_stepped(const DecodedOp* ip, Warp& w);
    bool begin_step(Warp& w, const DecodedOp*& ip) const;
    const DecodedOp* step(const DecodedOp* ip, Warp& w) const;
    std::uint32_t lanes_of(unsigned index) const;
    bool complete(unsigned id) const;
    void release(unsigned id);
    void pass(Warp& w, const Waiting& waiting, std::int32_t barrier);
    void wild_access(Warp& w, const DecodedOp* ip, unsigned lane, std::uint64_t address,
                     std::uint64_t bytes, bool write);
    Range range_around(const Warp& w, unsigned lane, std::uint64_t address,
                       std::uint64_t bytes) const;

    const Launch& launch_;
    const KernelCode& kernel_;
    const std::shared_ptr<const SteppedCode> stepped_;  // nullptr: without observers
    const MachineCode* const native_;                   // nullptr: interpreted
    std::unique_ptr<observe::BlockObserver> observer_;  // the first of them, or nullptr
    bool effects_are_seen_ = false;
    const DecodedOp* const code_;
    ClusterState& cluster_;
    const unsigned rank_;
    const unsigned threads_;
    Aligned<Warp> warps_;
    std::vector<Aligned<std::byte>> files_;           // register files, one for each running warp
    std::vector<std::byte*> free_files_, own_files_;  // machine code: one for each warp
    Aligned<std::byte> local_memory_;
    std::vector<std::unique_ptr<Return[]>> returns_;
    std::vector<Range> ranges_;
    std::vector<ThreadIndices> threads_of_;  // by warp
    Specials lasting_, changing_;  // written once for a register file; written for each warp
    bool can_batch_ = false;       // machine code may run several blocks in one call
    TextureViews textures_;
    std::unique_ptr<TensorMemory> tensor_memory_;
    std::vector<std::uint32_t> products_;
    std::vector<std::uint64_t> counts_;  // for coverage
    std::optional<Fault> fault_;
    std::vector<unsigned> sequence_;  // in a seeded order: the warps; the first warp runs next
};

// Whether the operation is inside a guarded instruction, where a warp cannot yield.
inline bool is_guarded(const DecodedOp* ip) { return ip[1].pseudo == Pseudo::guard_end; }

// A running cluster: blocks, shared memory, barrier.
class ClusterState : public ClusterRunner {
  public:
    explicit ClusterState(const Launch& launch);
    void begin(std::uint64_t cluster) override;
    std::uint64_t run_block_batch(std::uint64_t first, std::uint64_t end) override;
    Progress advance() override;
    Fault take_fault() override { return std::move(*fault_); }
    void make_deferred_updates() override {
        for (const auto& each : blocks_) each->make_deferred_updates();
    }
    bool is_outdated() const override { return blocks_[0]->is_outdated(); }

    unsigned size() const { return size_; }
    // The coordinates of a cluster.
    void locate(std::uint64_t cluster, std::uint32_t& x, std::uint32_t& y, std::uint32_t& z) const;
    BlockState& block(unsigned rank) { return *blocks_[rank]; }
    Dim3 id() const { return id_; }  // %clusterid
    std::uintptr_t shared_of(unsigned rank) const { return shared_ + rank * stride_; }
    std::uint64_t stride() const { return stride_; }

    // The cluster's barrier: the running lanes of `w` arrive.
    void arrive(Warp& w) {
        w.arrived |= w.mask;
        news_ = true;
    }
    // Lanes have exited: they count as arrived.
    void exited() { news_ = used_; }
    void use_barrier();
    bool uses_barrier() const { return used_; }

  protected:
    const Launch& launch() const { return launch_; }
    Progress progress_of(bool moved, bool live);

    std::vector<std::unique_ptr<BlockState>> blocks_;
    std::optional<Fault> fault_;

  private:
    bool release_if_complete();
    Progress stuck();

    const Launch& launch_;
    const unsigned size_;
    const std::uint64_t in_row_, in_column_;  // the size of the grid, in clusters
    std::uint64_t stride_;
    Aligned<std::byte> memory_;
    std::uintptr_t shared_ = 0;
    Dim3 id_;
    bool used_ = false;  // whether this cluster uses the barrier
    bool news_ = false;  // lanes arrived since the last check
};

// lane_schedule.cpp: queues the running lanes at `at`, and runs the first ready group that has one
// of the wanted lanes. Null: there is none, and nothing changes.
const DecodedOp* run_group(Warp& w, const DecodedOp* at, std::uint32_t wanted);

// special.cpp
bool special_lasts(unsigned special, bool of_one_warp, bool calls);

inline std::int64_t steady_nanoseconds() {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline BlockState& block_of(Warp& w) { return static_cast<BlockState&>(*w.block); }

}  // namespace cupola::cpu::interpreter
