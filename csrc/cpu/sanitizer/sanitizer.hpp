// csrc/cpu/sanitizer/sanitizer.hpp - checks a grid while it runs.
//
// Instructions run one by one, and the checks see each effect. A checked grid runs on one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "cpu/interpreter/execute.hpp"
#include "cpu/interpreter/stepped_code.hpp"
#include "cpu/observe/observer.hpp"
#include "cpu/sanitizer/awaited_registers.hpp"
#include "cpu/sanitizer/clock.hpp"
#include "cpu/sanitizer/init_shadow.hpp"
#include "cpu/sanitizer/races.hpp"

namespace cupola::cpu::sanitizer {

using interpreter::Effect;
using observe::Touch;

template <class F>
void each_lane_of(std::uint32_t mask, F f) {
    for (; mask != 0; mask &= mask - 1) f(static_cast<unsigned>(__builtin_ctz(mask)));
}

// State that the blocks of a grid share.
class GridChecks final : public observe::GridObserver {
  public:
    explicit GridChecks(const Launch& launch);
    std::unique_ptr<observe::BlockObserver> of_block(interpreter::BlockState& block) override;

    const Launch& launch;
    const interpreter::KernelCode& kernel;
    const std::shared_ptr<const interpreter::SteppedCode> stepped;

    Races races;
    std::map<std::uintptr_t, ReleaseClock> letters;  // by the address of the release
    // The copies that an mbarrier counts as complete, by the address of the mbarrier.
    std::map<std::uintptr_t, ReleaseClock> copied;
    std::uint64_t versions = 0;  // number of the last release clock
    // A cluster's barrier: the releases of arriving lanes, and their join once it is complete.
    struct ClusterBarrier {
        ReleaseClock come, passed;
    };
    std::map<std::uintptr_t, ClusterBarrier> clusters;  // by start of their shared memory
    Unwritten unwritten;  // bytes of shared memory that no thread wrote

    // The key of a finding: PTX lines of one source line have one key.
    std::string key(const char* check, std::uint32_t line, std::uint32_t other = 0);

  private:
    const std::string& place(std::uint32_t line);
    std::unordered_map<std::uint32_t, std::string> places_;
};

// Checks a running block.
class BlockChecks final : public observe::BlockObserver {
  public:
    BlockChecks(GridChecks& grid, interpreter::BlockState& block);
    void begin(std::uint32_t x, std::uint32_t y, std::uint32_t z) override;
    void end() override;

    const Op* before(Warp& w, const Op* ip) override;
    void after(Warp& w, const Op* ip, std::uint32_t mask) override;
    void touch(const Warp& w, const Op* ip, unsigned lane, std::uint64_t address,
               std::uint64_t bytes, Touch how) override;
    void allocated(std::uintptr_t begin, std::uint64_t bytes) override;
    void unwritten(const Warp& w, const Op* ip, unsigned lane, const std::string& place) override;
    void other_lanes(const Warp& w, const Op* ip, unsigned lane, unsigned first) override;

    // sync.cpp: the barriers of the block and the warp
    void arrive(const Warp& w, const Op* ip, std::uint32_t id, std::uint32_t count,
                std::uint32_t before, std::uint32_t others) override;
    void pass(const Warp& w, std::uint32_t mask, std::int32_t barrier) override;
    void complete(std::uint32_t id, std::uint32_t count) override;
    void exited(const Warp& w) override;
    void let_go(const Warp& w, const Waiting& waiting, std::uint32_t come) override;
    void forced(const Warp& w, const Waiting& waiting) override;
    void stuck() override;
    void cluster_complete() override;
    void cluster_passed(const Warp& w, std::uint32_t mask) override;

  private:
    struct Barrier {
        JoinClock meeting;
        // for each warp: the instruction at which its lanes arrived
        std::vector<const Op*> by;
        Known outcome;
    };

    void synchronised(const Warp& w, std::uint32_t mask);
    unsigned thread(const Warp& w, unsigned lane) const;
    Access access(const Op* ip, unsigned actor, bool strong) const;
    void look(const Warp& w, const Op* ip, const Effect& effect, std::uint32_t mask);
    void touch_plain(const Warp& w, const Op* ip, const Effect& effect, unsigned lane,
                     std::uint64_t address, std::uint64_t bytes, Touch how, bool strong,
                     const std::byte* value);
    // copies.cpp: asynchronous copies
    unsigned actor(const Warp& w, unsigned lane, const Effect& effect, bool writes) const;
    void step_copies(const Warp& w, const Op* ip, const Effect& effect, std::uint32_t mask);
    void check_registers(const Warp& w, const Op* ip, const Effect& effect);
    void signal_copied(const Warp& w, unsigned lane, const Effect& effect, std::uint64_t address);
    void signal(const Warp& w, unsigned lane, std::uint64_t address, bool takes, bool leaves,
                bool all);
    void check_members(const Warp& w, const Op* ip, const Effect& effect);
    void check_gone(const Warp& w, const Op* ip, std::uint32_t who, std::uint32_t named);
    void report_race(const Access& now, bool writes, const Access& before, bool wrote,
                     std::uint64_t address, std::uint64_t bytes);
    bool is_sync_news(const Op* ip);
    void write_sync(const Warp& w, const Op* ip, std::uint32_t who, const std::string& what,
                    std::vector<std::string> more = {});
    std::string place_text(std::uint64_t address) const;
    std::string thread_text(std::uint32_t block, unsigned thread) const;
    std::string actor_text(const Access& access, const char* verb) const;
    const char* operation_text(unsigned actor) const;

    GridChecks& grid_;
    interpreter::BlockState& block_;
    std::uint32_t number_ = 0;
    Clocks clocks_;
    AwaitedRegisters awaited_;
    JoinClock gone_;  // knowledge of threads at their exit
    Barrier barriers_[16];
};

// Checks the launches whose settings or whose seeded order need it, and reports faults.
observe::Observer& observer();

}  // namespace cupola::cpu::sanitizer
