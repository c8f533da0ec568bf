// csrc/cpu/exec/block.cpp - running a block: its warps in turn until all have ended.
#include "cpu/exec/cluster.hpp"

#include <cstring>
#include <new>

namespace cupola::cpu {

namespace exec {
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

}  // namespace

Aligned<std::byte> pages(std::size_t bytes) {
    const std::size_t size = rounded(bytes != 0 ? bytes : 1, 4096);
    Aligned<std::byte> memory(static_cast<std::byte*>(std::aligned_alloc(4096, size)));
    if (!memory) throw std::bad_alloc();
    return memory;
}

BlockState::BlockState(const Launch& launch, ClusterState& cluster, unsigned rank,
                       std::uint64_t own)
    : launch_(launch),
      kernel_(static_cast<const KernelCode&>(*launch.kernel)),
      native_(launch.watch ? nullptr : kernel_.native->ready.load(std::memory_order_acquire)),
      watch_(launch.watch ? std::make_unique<watch::BlockWatch>(*launch.watch, *this) : nullptr),
      code_(watch_    ? launch.watch->code.data()
            : native_ ? native_->code.data()
                      : kernel_.code.data()),
      cluster_(cluster),
      rank_(rank),
      company_(launch.cooperative || cluster.size() > 1),
      threads_(launch.block.x * launch.block.y * launch.block.z),
      warp_count_((threads_ + lanes - 1) / lanes) {
    void* p = std::aligned_alloc(alignof(Warp), sizeof(Warp) * warp_count_);
    if (!p) throw std::bad_alloc();
    warps_.reset(static_cast<Warp*>(p));
    for (unsigned n = 0; n < warp_count_; ++n) new (warps_.get() + n) Warp;
    shared = cluster.shared_of(rank);
    shared_bytes = own;
    std::memset(reinterpret_cast<void*>(shared), 0, shared_bytes);
    Block::cluster = cluster.shared_of(0);
    cluster_stride = cluster.stride();
    cluster_bytes = (cluster.size() - 1) * cluster_stride + own;
    local_bytes = kernel_.stack_bytes;
    // calloc leaves large stacks untouched until a thread uses its own.
    local_memory_.reset(static_cast<std::byte*>(
        std::calloc(std::size_t{warp_count_} * lanes * local_bytes + 64, 1)));
    if (!local_memory_) throw std::bad_alloc();
    local = rounded(reinterpret_cast<std::uintptr_t>(local_memory_.get()), 16);
    parameters = reinterpret_cast<std::uintptr_t>(launch.parameters.data());
    parameter_bytes = launch.parameters.size();
    ranges_.resize(kernel_.slots + 1);
    ranges = ranges_.data();
    returns_.resize(kernel_.call_depth ? warp_count_ : 0);
    // Divided once, not for every block.
    threads_of_.resize(warp_count_);
    const Dim3& shape = launch.block;
    for (unsigned n = 0; n < warp_count_ * lanes; ++n) {
        ThreadIndices& t = threads_of_[n / lanes];
        t.x[n % lanes] = n % shape.x;
        t.y[n % lanes] = n / shape.x % shape.y;
        t.z[n % lanes] = n / shape.x / shape.y;
    }
}

// Registers of a warp that has ended serve the next one: they are still in the cache.
void BlockState::start(Warp& w, unsigned index) {
    if (free_files_.empty()) {
        files_.push_back(pages(kernel_.file_bytes));
        std::byte* file = files_.back().get();
        std::memset(file, 0, kernel_.file_bytes);
        for (const auto& c : kernel_.constants) write_constant(file, c);
        free_files_.push_back(file);
    }
    w.registers = free_files_.back();
    free_files_.pop_back();
    w.block = this;
    w.index = static_cast<std::uint8_t>(index);
    const unsigned first = index * lanes;
    w.live = threads_ - first >= lanes ? all_lanes : (1u << (threads_ - first)) - 1;
    w.forced = 0;
    w.turn = 0;
    w.budget = turn_length();
    w.lenient = false;
    w.ready_count = w.waiting_count = 0;
    if (kernel_.call_depth) {
        if (!returns_[index])
            returns_[index] = std::make_unique<Return[]>(lanes * kernel_.call_depth);
        w.returns = returns_[index].get();
        for (auto& depth : w.depth) depth = 0;
    }
    write_specials(w);
    w.resume = {w.live, code_};
    w.status = Status::yielded;
}

void BlockState::enter(Warp& w) {
    const Code* ip;
    if (w.status == Status::yielded) {
        set_mask(w, w.resume.mask);
        ip = w.resume.pc;
        // The limit follows from who is ready.
        w.limit = w.forced > 0        ? nullptr
                  : w.ready_count > 0 ? w.ready[w.ready_count - 1].pc
                                      : reinterpret_cast<const Code*>(~std::uintptr_t{0});
        w.status = Status::ready;
        ip = w.ready_count > 0 ? arrive(w, ip) : ip;
    } else {
        ip = pick(w);
        if (ip == &halt) return;
        w.status = Status::ready;
    }
    if (native_) return run_native(ip, w);
    if (watch_) {
        while (ip && ip != &halt) ip = watch_->step(ip, w);
        return;
    }
    while (ip) ip = ip->run(ip, w, w.registers);
}

// Between two entries of machine code, instruction by instruction.
void BlockState::run_native(const Code* ip, Warp& w) const {
    const Native& native = *native_;
    while (ip && ip != &halt) {
        if (native.entry[static_cast<std::size_t>(ip - code_)]) {
            ip = native.run(ip, w, w.registers, native.services);
            if (!ip) return;
        }
        ip = native.handlers[static_cast<std::size_t>(ip - code_)](ip, w, w.registers);
    }
}

void BlockState::begin(Dim3 block) {
    block_ = block;
    fault_.reset();
    live_warps_ = warp_count_;
    for (auto& b : barriers_) b = BarrierState{};
    barriers_used_ = false;
    free_files_.clear();
    for (const auto& file : files_) free_files_.push_back(file.get());
    for (unsigned n = 0; n < warp_count_; ++n) {
        Warp& w = warps_.get()[n];
        const unsigned first = n * lanes;
        w.registers = nullptr;
        w.waiting_count = w.ready_count = 0;
        w.arrived = 0;
        w.live = threads_ - first >= lanes ? all_lanes : (1u << (threads_ - first)) - 1;
        w.status = Status::yielded;
    }
    if (watch_) watch_->begin(block);
}

BlockState::Turn BlockState::turn() {
    bool moved = false;
    for (unsigned n = 0; n < warp_count_; ++n) {
        Warp& w = warps_.get()[n];
        if (w.status == Status::done || w.status == Status::blocked) continue;
        if (!w.registers) start(w, n);
        enter(w);
        moved = true;
        if (w.status == Status::faulted) return Turn::faulted;
        if (w.status == Status::done) free_files_.push_back(w.registers);
        if (watch_ && done()) watch_->end();
    }
    return moved ? Turn::moved : Turn::stuck;
}

bool BlockState::force() {
    for (unsigned n = 0; n < warp_count_; ++n) {
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
    for (unsigned n = 0; n < warp_count_; ++n) {
        Warp& w = warps_.get()[n];
        if (w.status != Status::blocked) continue;
        const Waiting& waiting = w.waiting[0];
        const bool cluster = waiting.barrier == cluster_barrier;
        if (watch_) watch_->stuck();
        fault(w, waiting.code, Fault::Kind::illegal_instruction,
              static_cast<unsigned>(__builtin_ctz(waiting.mask)),
              cluster ? "deadlock: threads never reach the barrier of the cluster, of blocks"
                      : "deadlock: threads of the block never reach barrier",
              cluster ? cluster_.size() : static_cast<std::uint64_t>(waiting.barrier));
        return;
    }
}

void BlockState::write_specials(Warp& w) {
    using S = ptx::Special;
    const Dim3 &b = launch_.block, &g = launch_.grid, &c = launch_.cluster;
    for (const auto& [special, offset] : kernel_.specials) {
        std::byte* file = w.registers;
        const auto each = [&, to = offset](auto value) {
            using T = decltype(value(0u));
            for (unsigned i = 0; i < lanes; ++i) at<T>(file, to)[i] = value(i);
        };
        const auto same = [&](std::uint32_t value) { each([value](unsigned) { return value; }); };
        const unsigned first = w.index * lanes;
        if (special >= static_cast<unsigned>(S::count)) {
            switch (static_cast<Hidden>(special)) {
                case Hidden::shared_base:
                    each([&](unsigned) { return std::uint64_t{shared}; });
                    break;
                case Hidden::local_base:
                    each([&](unsigned i) { return local + (first + i) * local_bytes; });
                    break;
                case Hidden::parameter_base:
                    each([&](unsigned) { return std::uint64_t{parameters}; });
                    break;
                case Hidden::local_top:
                    same(kernel_.local_top);
                    break;
                case Hidden::stack_pointer:
                case Hidden::count:
                    same(0);
                    break;
            }
            continue;
        }
        switch (static_cast<S>(special)) {
            case S::tid_x:
                std::memcpy(at<std::uint32_t>(file, offset), threads_of_[w.index].x,
                            sizeof threads_of_[0].x);
                break;
            case S::tid_y:
                std::memcpy(at<std::uint32_t>(file, offset), threads_of_[w.index].y,
                            sizeof threads_of_[0].y);
                break;
            case S::tid_z:
                std::memcpy(at<std::uint32_t>(file, offset), threads_of_[w.index].z,
                            sizeof threads_of_[0].z);
                break;
            case S::ntid_x:
                same(b.x);
                break;
            case S::ntid_y:
                same(b.y);
                break;
            case S::ntid_z:
                same(b.z);
                break;
            case S::ctaid_x:
                same(block_.x);
                break;
            case S::ctaid_y:
                same(block_.y);
                break;
            case S::ctaid_z:
                same(block_.z);
                break;
            case S::nctaid_x:
                same(g.x);
                break;
            case S::nctaid_y:
                same(g.y);
                break;
            case S::nctaid_z:
                same(g.z);
                break;
            case S::laneid:
                each([](unsigned i) { return std::uint32_t{i}; });
                break;
            case S::warpid:
                same(w.index);
                break;
            case S::nwarpid:
                same(warp_count_);
                break;
            case S::nsmid:
                same(1);
                break;
            case S::gridid:
                each([&](unsigned) { return std::uint64_t{launch_.grid_id}; });
                break;
            case S::lanemask_eq:
                each([](unsigned i) { return 1u << i; });
                break;
            case S::lanemask_le:
                each([](unsigned i) { return (2u << i) - 1; });
                break;
            case S::lanemask_lt:
                each([](unsigned i) { return (1u << i) - 1; });
                break;
            case S::lanemask_ge:
                each([](unsigned i) { return ~((1u << i) - 1); });
                break;
            case S::lanemask_gt:
                each([](unsigned i) { return ~((2u << i) - 1); });
                break;
            case S::dynamic_smem_size:
                same(launch_.dynamic_shared);
                break;
            case S::total_smem_size:
                same(static_cast<std::uint32_t>(shared_bytes));
                break;
            case S::aggr_smem_size:
                same(static_cast<std::uint32_t>(shared_bytes));
                break;
            case S::current_graph_exec:
            case S::performance64:
                each([](unsigned) { return std::uint64_t{0}; });
                break;
            case S::cluster_ctaid_x:
                same(rank_ % c.x);
                break;
            case S::cluster_ctaid_y:
                same(rank_ / c.x % c.y);
                break;
            case S::cluster_ctaid_z:
                same(rank_ / c.x / c.y);
                break;
            case S::cluster_nctaid_x:
                same(c.x);
                break;
            case S::cluster_nctaid_y:
                same(c.y);
                break;
            case S::cluster_nctaid_z:
                same(c.z);
                break;
            case S::clusterid_x:
                same(cluster_.id().x);
                break;
            case S::clusterid_y:
                same(cluster_.id().y);
                break;
            case S::clusterid_z:
                same(cluster_.id().z);
                break;
            case S::nclusterid_x:
                same(g.x / c.x);
                break;
            case S::nclusterid_y:
                same(g.y / c.y);
                break;
            case S::nclusterid_z:
                same(g.z / c.z);
                break;
            case S::cluster_ctarank:
                same(rank_);
                break;
            case S::cluster_nctarank:
                same(cluster_.size());
                break;
            case S::is_explicit_cluster:
                bits_at(file, offset) = launch_.explicit_cluster ? all_lanes : 0;
                break;
            // Where the driver says to cooperative groups that a grid is a cooperative one.
            case S::envreg1:
                same(static_cast<std::uint32_t>(std::uint64_t{launch_.workspace.begin} >> 32));
                break;
            case S::envreg2:
                same(static_cast<std::uint32_t>(launch_.workspace.begin));
                break;
            default:
                same(0);
                break;  // smid: there is one multiprocessor as far as a block can tell
        }
    }
}

}  // namespace exec
}  // namespace cupola::cpu
