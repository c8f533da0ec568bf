// csrc/cpu/interpreter/block.cpp - runs a block: its warps by time slices until all have exited.
#include "cpu/interpreter/block.hpp"
#include "cpu/interpreter/divergence.hpp"
#include "cpu/interpreter/stepped_code.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>

namespace cupola::cpu {

namespace interpreter {
namespace {

void write_constant(std::byte* file, const ConstantLanes& c) {
    if (c.width == 0) {
        bits_at(file, c.offset) = static_cast<std::uint32_t>(c.value);
        return;
    }
    std::byte bytes[16] = {};
    std::memcpy(bytes, &c.value, 8);
    for (unsigned i = 0; i < lanes; ++i) std::memcpy(file + c.offset + i * c.width, bytes, c.width);
}

ThreadAffine affine_thread_index(const std::uint32_t* index, std::uint32_t step) {
    constexpr unsigned half = lanes / 2;
    ThreadAffine affine{index[0], index[half], true};
    for (unsigned i = 0; i < lanes; ++i)
        affine.holds &= index[i] == (i < half ? affine.low : affine.high) + i % half * step;
    return affine;
}

}  // namespace

Aligned<std::byte> pages(std::size_t bytes, std::size_t align) {
    const std::size_t size = rounded(bytes != 0 ? bytes : 1, align);
    Aligned<std::byte> memory(static_cast<std::byte*>(std::aligned_alloc(align, size)));
    if (!memory) throw std::bad_alloc();
    return memory;
}

BlockState::BlockState(const Launch& launch, ClusterState& cluster, unsigned rank,
                       std::uint64_t own)
    : launch_(launch),
      kernel_(static_cast<const KernelCode&>(*launch.kernel)),
      stepped_(launch.observers.empty() && !launch.order ? nullptr : stepped_code(kernel_)),
      native_(stepped_ ? nullptr : kernel_.native->ready.load(std::memory_order_acquire)),
      code_(stepped_  ? stepped_->code.data()
            : native_ ? native_->code.data()
                      : kernel_.code.data()),
      cluster_(cluster),
      rank_(rank),
      threads_(launch.block.x * launch.block.y * launch.block.z) {
    warp_count = (threads_ + lanes - 1) / lanes;
    alone = !launch.cooperative && cluster.size() == 1 && !launch.order;
    void* p = std::aligned_alloc(alignof(Warp), sizeof(Warp) * warp_count);
    if (!p) throw std::bad_alloc();
    warps_.reset(static_cast<Warp*>(p));
    for (unsigned n = 0; n < warp_count; ++n) {
        Warp& w = *new (warps_.get() + n) Warp;
        w.block = this;
        w.index = static_cast<std::uint8_t>(n);
    }
    shared = cluster.shared_of(rank);
    shared_bytes = own;
    rank_window = window_bits(rank);
    if (kernel_.knows_rank && rank != 0) shared_window = rank_window;
    std::memset(reinterpret_cast<void*>(shared), 0, shared_bytes);
    Block::cluster = cluster.shared_of(0);
    cluster_stride = cluster.stride();
    cluster_bytes = (cluster.size() - 1) * cluster_stride + own;
    local_bytes = kernel_.stack_bytes;
    // calloc maps pages on first use, so a large unused stack costs nothing.
    local_memory_.reset(static_cast<std::byte*>(
        std::calloc(std::size_t{warp_count} * lanes * local_bytes + kernel_.local_align, 1)));
    if (!local_memory_) throw std::bad_alloc();
    local = rounded(reinterpret_cast<std::uintptr_t>(local_memory_.get()), kernel_.local_align);
    parameters = reinterpret_cast<std::uintptr_t>(launch.parameters.data());
    parameter_bytes = launch.parameters.size();
    ranges_.resize(kernel_.slots + 1);
    ranges = ranges_.data();
    returns_.resize(kernel_.call_depth ? warp_count : 0);
    for (const auto& each : kernel_.specials) {
        // machine code reads index_of_block
        if (native_ && index_dimension(each.first) >= 0) continue;
        const bool lasts = special_lasts(each.first, native_ != nullptr, kernel_.call_depth != 0);
        (lasts ? lasting_ : changing_).push_back(each);
    }
    if (kernel_.counters.module) {
        counts_.resize(kernel_.counters.words + 1);
        counts = counts_.data();
    }
    shape[0] = launch.block.x, shape[1] = launch.block.y, shape[2] = launch.block.z;
    can_batch_ =
        native_ && native_->has_block_batch && alone && changing_.empty() && shape[0] % lanes == 0;
    // Computed once: the divisions are slow.
    threads_of_.resize(warp_count);
    own_files_.resize(native_ ? warp_count : 0);
    for (unsigned n = 0; n < warp_count * lanes; ++n) {
        ThreadIndices& t = threads_of_[n / lanes];
        t.x[n % lanes] = n % shape[0];
        t.y[n % lanes] = n / shape[0] % shape[1];
        t.z[n % lanes] = n / shape[0] / shape[1];
    }
    for (unsigned n = 0; n < warp_count; ++n) {
        ThreadAffine* const thread = warps_.get()[n].thread;
        thread[0] = affine_thread_index(threads_of_[n].x, 1);
        thread[1] = affine_thread_index(threads_of_[n].y, 0);
        thread[2] = affine_thread_index(threads_of_[n].z, 0);
    }
    for (auto at = launch.observers.rbegin(); at != launch.observers.rend(); ++at) {
        effects_are_seen_ |= (*at)->sees_effects();
        auto each = (*at)->of_block(*this);
        each->next = std::move(observer_);
        observer_ = std::move(each);
    }
}

BlockState::~BlockState() {
    if (counts) kernel_.counters.add(launch_.coverage_context, counts_);
}

std::byte* BlockState::new_file(unsigned index) {
    // Stagger the files: if all began at the same page offset, those of several warps would compete
    // for the same cache sets.
    constexpr unsigned apart = 832, different = 4;
    const unsigned from = native_ ? apart * (index % different) : 0;
    files_.push_back(pages(kernel_.file_bytes + from));
    std::byte* const file = files_.back().get() + from;
    std::memset(file, 0, kernel_.file_bytes);
    for (const auto& c : kernel_.constants) write_constant(file, c);
    write_specials(lasting_, index, file);
    return file;
}

// The interpreter reuses the register file of a warp that has exited, which is still in the cache.
// With machine code each warp keeps its own. It holds little, mainly per-warp values that are read
// as vectors, and a vector load right after scalar stores to it stalls until they reach the cache.
void BlockState::start(Warp& w, unsigned index) {
    if (native_) {
        if (!own_files_[index]) own_files_[index] = new_file(index);
        w.registers = own_files_[index];
    } else {
        if (free_files_.empty()) free_files_.push_back(new_file(index));
        w.registers = free_files_.back();
        free_files_.pop_back();
    }
    w.live = lanes_of(index);
    w.forced = 0;
    w.turn = 0;
    w.budget = turn_length();
    w.wake = 0;
    w.lenient = false;
    w.ready_count = w.waiting_count = 0;
    if (kernel_.call_depth != 0) {
        if (!returns_[index])
            returns_[index] = std::make_unique<Return[]>(lanes * kernel_.call_depth);
        w.returns = returns_[index].get();
        for (auto& depth : w.depth) depth = 0;
    }
    if (!changing_.empty()) write_specials(changing_, index, w.registers);
    w.resume = {w.live, code_};
    w.status = Status::yielded;
}

void BlockState::enter(Warp& w) {
    running_warp = &w;
    const DecodedOp* ip;
    if (w.status == Status::yielded) {
        mask_lanes(w, w.resume.mask);
        ip = w.resume.pc;
        update_reconvergence_pc(w);
        w.status = Status::ready;
        ip = w.ready_count > 0 ? arrive(w, ip) : ip;
    } else {
        ip = pick(w);
        if (ip == &halt) return;
        w.status = Status::ready;
    }
    if (native_) return run_native(ip);
    if (launch_.order) return run_seeded(ip);
    if (stepped_) return run_stepped(ip, w);
    while (ip) ip = ip->run(ip, w, w.registers);
}

void BlockState::run_stepped(const DecodedOp* ip, Warp& w) {
    while (ip && ip != &halt && begin_step(w, ip)) ip = step(ip, w);
}

// Lets the observers choose the operation that is next. False: they end the warp's time slice.
bool BlockState::begin_step(Warp& w, const DecodedOp*& ip) const {
    notify([&](auto& each) {
        if (ip != &halt) ip = each.before(w, ip);
    });
    return ip != &halt;
}

const DecodedOp* BlockState::step(const DecodedOp* ip, Warp& w) const {
    const std::uint32_t mask = w.mask;
    const DecodedOp* const next = stepped_->handlers[stepped_->index_of(ip)](ip, w, w.registers);
    if (w.status != Status::faulted) notify([&](auto& each) { each.after(w, ip, mask); });
    return next;
}

// Interprets instructions between two entries of machine code.
void BlockState::run_native(const DecodedOp* ip) {
    const MachineCode& native = *native_;
    while (ip && ip != &halt) {
        Warp* w = running_warp;
        if (native.entry[static_cast<std::size_t>(ip - code_)]) {
            ip = native.run(ip, *w, w->registers, native.services);
            if (!ip) return;
            w = running_warp;
        }
        ip = native.handlers[static_cast<std::size_t>(ip - code_)](ip, *w, w->registers);
    }
}

// The lanes of a warp that have a thread, without the threads that a batch ran.
std::uint32_t BlockState::lanes_of(unsigned index) const {
    const unsigned first = index * lanes;
    const std::uint32_t all =
        threads_ - first >= lanes ? all_lanes : (1u << (threads_ - first)) - 1;
    return batched_threads > first ? all & all_lanes << (batched_threads - first) : all;
}

void BlockState::begin(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
    index_of_block[0] = x;
    index_of_block[1] = y;
    index_of_block[2] = z;
    fault_.reset();
    if (tensor_memory_) tensor_memory_->begin();
    const std::uint32_t batched_warps = batched_threads / lanes;
    live_warps = warp_count - batched_warps;
    live_threads = threads_ - batched_threads;
    for (; used_barriers != 0; used_barriers &= used_barriers - 1)
        barriers[__builtin_ctz(used_barriers)] = BarrierState{};
    awaited = false;
    products_.assign(warp_count, 0);
    free_files_.clear();
    if (!native_)
        for (const auto& file : files_) free_files_.push_back(file.get());
    for (unsigned n = 0; n < warp_count; ++n) {
        Warp& w = warps_.get()[n];
        w.arrived = 0;
        if (n < batched_warps) {
            w.live = w.mask = 0;
            w.status = Status::done;
            continue;
        }
        if (native_) {
            start(w, n);
            continue;
        }
        w.registers = nullptr;
        w.waiting_count = w.ready_count = 0;
        w.live = lanes_of(n);
        w.status = Status::yielded;
    }
    batched_threads = 0;
    notify([&](auto& each) { each.begin(x, y, z); });
}

// The first block runs the ordinary way, which fills the cached ranges.
std::uint32_t BlockState::run_block_batch(std::uint32_t x, std::uint32_t y, std::uint32_t z,
                                          std::uint32_t count) {
    if (!can_batch_ || !own_files_[0]) return 0;
    index_of_block[0] = x;
    index_of_block[1] = y;
    index_of_block[2] = z;
    batch_end = x + count;
    native_->run(nullptr, warps_.get()[0], own_files_[0], native_->services);
    return index_of_block[0] - x;
}

BlockState::Turn BlockState::turn() {
    bool moved = false;
    std::int64_t first_wake = 0;
    for (unsigned n = 0; n < warp_count; ++n) {
        Warp& w = warps_.get()[n];
        if (w.status == Status::done || w.status == Status::blocked) continue;
        if (w.wake != 0) {
            if (w.wake > steady_nanoseconds()) {
                if (first_wake == 0 || w.wake < first_wake) first_wake = w.wake;
                continue;
            }
            w.wake = 0;
        }
        if (!w.registers) start(w, n);
        enter(w);
        // Machine code may have run later warps too; warps of a block run in index order.
        if (native_) n = running_warp->index;
        moved = true;
        if (fault_) return Turn::faulted;
        if (done() && leaks_columns()) return Turn::faulted;
        if (w.status == Status::done && !native_) free_files_.push_back(w.registers);
        if (observer_ && done()) notify([](auto& each) { each.end(); });
    }
    if (moved || first_wake == 0) return moved ? Turn::moved : Turn::stuck;
    // All runnable warps sleep. Sleep briefly if other blocks share this thread.
    constexpr std::int64_t longest = 20'000;
    const std::int64_t left = first_wake - steady_nanoseconds();
    if (left > 0)
        std::this_thread::sleep_for(
            std::chrono::nanoseconds(alone ? left : std::min(left, longest)));
    return Turn::moved;
}

TensorMemory& BlockState::tensor_memory() {
    if (!tensor_memory_) tensor_memory_ = std::make_unique<TensorMemory>();
    return *tensor_memory_;
}

std::uint32_t BlockState::read_tensor_memory(const Warp& w, const DecodedOp* ip,
                                             unsigned thread_lane, unsigned lane,
                                             unsigned column) const {
    if (effects_are_seen_ && !tensor_memory_->is_written(lane, column))
        notify([&](auto& each) {
            each.unwritten(w, ip, thread_lane,
                           "lane " + std::to_string(lane) + ", column " + std::to_string(column) +
                               " of tensor memory");
        });
    touch_columns(w, ip, thread_lane, lane, column, 1, observe::Touch::read);
    return tensor_memory_->read(lane, column);
}

void BlockState::notify_other_lanes(const Warp& w, const DecodedOp* ip, unsigned lane,
                                    unsigned first) const {
    if (effects_are_seen_) notify([&](auto& each) { each.other_lanes(w, ip, lane, first); });
}

void BlockState::touch_columns(const Warp& w, const DecodedOp* ip, unsigned thread_lane,
                               unsigned lane, unsigned column, unsigned count,
                               observe::Touch how) const {
    if (effects_are_seen_)
        static_cast<const BlockState&>(*w.block).touch(w, ip, thread_lane,
                                                       tensor_memory_->address_of(lane, column),
                                                       std::uint64_t{4} * count, how);
}

void BlockState::forget_columns(unsigned first, unsigned count) const {
    if (!effects_are_seen_) return;
    for (unsigned lane = 0; lane < TensorMemory::lane_count; ++lane)
        notify([&](auto& each) {
            each.allocated(tensor_memory_->address_of(lane, first), std::uint64_t{4} * count);
        });
}

std::string BlockState::cell_text(std::uint64_t address) const {
    const BlockState* const peer = peer_of(*this);
    for (const BlockState* each : {this, peer}) {
        if (!each || !each->tensor_memory_) continue;
        const std::uint64_t cell = (address - each->tensor_memory_->address_of(0, 0)) / 4;
        if (cell >= TensorMemory::lane_count * TensorMemory::column_count) continue;
        return "lane " + std::to_string(cell / TensorMemory::column_count) + ", column " +
               std::to_string(cell % TensorMemory::column_count) + " of tensor memory" +
               (each == this ? ""
                             : " of block " + std::to_string(each->rank()) + " of the cluster");
    }
    return {};
}

// Notes a fault where the block has ended with columns that no thread has freed.
bool BlockState::leaks_columns() {
    const TensorMemory::Allocation* const left = tensor_memory_ ? tensor_memory_->any() : nullptr;
    if (!left) return false;
    fault_text(warps_.get()[left->warp], left->by, Fault::Kind::tensor_memory_leak, 0,
               "the block ended without freeing " + std::to_string(left->count) +
                   " columns of tensor memory; free them by tcgen05.dealloc");
    return true;
}

bool BlockState::force() {
    for (unsigned n = 0; n < warp_count; ++n) {
        Warp& w = warps_.get()[n];
        if (w.status == Status::blocked && force_ready(w)) return true;
    }
    return false;
}

void BlockState::give_up() {
    if (stopped()) {
        fault(warps_.get()[0], code_, Fault::Kind::stopped, 0, "the launch was stopped", 0);
        return;
    }
    for (unsigned n = 0; n < warp_count; ++n) {
        Warp& w = warps_.get()[n];
        if (w.status != Status::blocked) continue;
        const Waiting& waiting = w.waiting[0];
        const bool cluster = waiting.barrier == cluster_barrier;
        if (waiting.barrier == free_columns) {
            fault_text(w, waiting.code, Fault::Kind::illegal_instruction,
                       static_cast<unsigned>(__builtin_ctz(waiting.mask)),
                       "deadlock: tcgen05.alloc waits for columns of tensor memory, and no thread "
                       "of the block can free columns");
            return;
        }
        notify([](auto& each) { each.stuck(); });
        fault(w, waiting.code, Fault::Kind::illegal_instruction,
              static_cast<unsigned>(__builtin_ctz(waiting.mask)),
              cluster ? "deadlock: threads never reach the barrier of the cluster, of blocks"
                      : "deadlock: threads of the block never reach barrier",
              cluster ? cluster_.size() : static_cast<std::uint64_t>(waiting.barrier));
        return;
    }
}

}  // namespace interpreter
}  // namespace cupola::cpu
