// csrc/cpu/exec/block.hpp - a block at work: its warps, barriers and memory. One for each worker;
// registers, shared and local memory are kept from block to block.
#pragma once

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cpu/exec/kernel.hpp"

namespace cupola::cpu::exec {

struct FreeDeleter {
    void operator()(void* p) const { std::free(p); }
};
template <class T>
using Aligned = std::unique_ptr<T, FreeDeleter>;

// One of the 16 barriers of a block.
struct BarrierState {
    std::uint32_t come[lanes] = {};  // lanes of each warp
    std::uint32_t threads = 0;       // of them
    std::uint32_t count = 0;         // threads that it waits for; 0: all
    std::uint32_t yes = 0;           // bar.red: threads whose predicate was true
};

class BlockState final : public BlockRunner, public Block {
  public:
    explicit BlockState(const Launch& launch);
    std::optional<Fault> run(Dim3 block) override;

    bool resolve(Warp& w, const Code* ip, unsigned bytes, bool write) override;
    void fault(Warp& w, const Code* ip, Fault::Kind kind, unsigned lane, const char* what,
               std::uint64_t address) override;
    bool is_constant(std::uintptr_t address) const override;

    bool stopped() const { return launch_.stop && launch_.stop->load(std::memory_order_relaxed); }
    bool others_live(const Warp& w) const { return live_warps_ > (w.live != 0 ? 1u : 0u); }
    const KernelCode& kernel() const { return kernel_; }
    const Launch& launch() const { return launch_; }

    // barrier.cpp
    const Code* arrive_at(Warp& w, const Code* ip, std::uint32_t id, std::uint32_t count,
                          bool waits, std::uint32_t yes);
    const Code* exit_lanes(Warp& w);
    void fault_text(Warp& w, const Code* ip, Fault::Kind kind, unsigned lane,
                    const std::string& what);

    // memory.cpp: the end of what may be read from here on, 0 where nothing may.
    std::uintptr_t readable_until(const Warp& w, unsigned lane, std::uintptr_t address) const;
    std::byte* local_of(const Warp& w, unsigned lane) const {
        return reinterpret_cast<std::byte*>(local) +
               (std::uint64_t{w.index} * lanes + lane) * local_bytes;
    }

  private:
    void start(Warp& w, unsigned index);
    void write_specials(Warp& w);
    void enter(Warp& w);
    bool complete(unsigned id) const;
    void release(unsigned id);
    void release_complete();

    const Launch& launch_;
    const KernelCode& kernel_;
    unsigned threads_, warp_count_, live_warps_ = 0;
    Aligned<Warp> warps_;
    std::vector<Aligned<std::byte>> files_;  // registers, one for each warp that is under way
    std::vector<std::byte*> free_files_;
    Aligned<std::byte> shared_memory_, local_memory_;
    std::vector<std::unique_ptr<Return[]>> returns_;
    std::vector<Range> ranges_;
    BarrierState barriers_[16];
    bool barriers_used_ = false;
    Dim3 block_;
    std::optional<Fault> fault_;
};

}  // namespace cupola::cpu::exec
