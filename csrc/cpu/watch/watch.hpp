// csrc/cpu/watch/watch.hpp - looking on while a grid runs: each instruction is done by itself, and
// what it did is told to the checks. One thread runs a grid that is watched.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "cpu/exec/code.hpp"
#include "cpu/execute.hpp"
#include "cpu/watch/clock.hpp"
#include "cpu/watch/races.hpp"
#include "cpu/watch/unwritten.hpp"
#include "cpu/watch/use.hpp"

namespace cupola::cpu::exec {
class BlockState;
struct KernelCode;
}  // namespace cupola::cpu::exec

namespace cupola::cpu::watch {

// How memory is touched. `signal` is an operation that orders others, as of an mbarrier.
enum class Touch : std::uint8_t { read, write, atomic, signal };

// A kernel's code, of which each returns before the next. It is made once.
struct WatchedCode {
    explicit WatchedCode(const std::vector<exec::Code>& whole);

    std::vector<exec::Code> code;
    std::vector<exec::Handler> handlers;
    std::vector<Use> uses;
};

// What the blocks of a grid have in common.
class GridWatch {
  public:
    explicit GridWatch(const Launch& launch);

    const Launch& launch;
    const exec::KernelCode& kernel;
    const std::shared_ptr<const WatchedCode> watched;
    const std::vector<exec::Code>& code;

    Races races;
    std::map<std::uintptr_t, Letter> letters;  // by the address that they were left at
    std::uint64_t versions = 0;                // of letters
    // Of a cluster's barrier: what those leave who come, and what was left when all had come.
    struct ClusterBarrier {
        Letter come, passed;
    };
    std::map<std::uintptr_t, ClusterBarrier> clusters;  // by where their shared memory begins
    Unwritten unwritten;                                // of shared memory

    // Of a finding: lines of the PTX that come of one line of the source are one.
    std::string key(const char* check, std::uint32_t line, std::uint32_t other = 0);

  private:
    const std::string& place(std::uint32_t line);
    std::unordered_map<std::uint32_t, std::string> places_;
};

// A block at work.
class BlockWatch {
  public:
    BlockWatch(GridWatch& grid, exec::BlockState& block);
    void begin(Dim3 block);
    void end();  // all threads have exited

    // Does the instruction and looks on.
    const exec::Code* step(const exec::Code* ip, exec::Warp& w);
    // What a lane touches by an instruction that is no plain access.
    void touch(const exec::Warp& w, const exec::Code* ip, unsigned lane, std::uint64_t address,
               std::uint64_t bytes, Touch how);
    // malloc has given whole words that may have been another's before.
    void allocated(std::uintptr_t begin, std::uint64_t bytes);

    // sync.cpp: the barriers of the block and the warp
    void arrive(const exec::Warp& w, const exec::Code* ip, std::uint32_t id, std::uint32_t count,
                std::uint32_t before, std::uint32_t others);
    void pass(const exec::Warp& w, std::uint32_t mask, std::int32_t barrier);
    void complete(std::uint32_t id, std::uint32_t count);
    void exited(const exec::Warp& w);
    void synchronised(const exec::Warp& w, std::uint32_t mask);
    void let_go(const exec::Warp& w, const exec::Waiting& waiting, std::uint32_t come);
    void forced(const exec::Warp& w, const exec::Waiting& waiting);
    void stuck();
    void cluster_complete();  // all have come to the cluster's barrier
    void cluster_passed(const exec::Warp& w, std::uint32_t mask);

  private:
    struct Barrier {
        Meeting meeting;
        std::vector<const exec::Code*> by;  // warp: which instruction its lanes came by
        Known outcome;
    };

    unsigned thread(const exec::Warp& w, unsigned lane) const;
    Access access(const exec::Warp& w, const exec::Code* ip, unsigned lane, bool strong) const;
    void look(const exec::Warp& w, const exec::Code* ip, const Use& use, std::uint32_t mask);
    void touch_plain(const exec::Warp& w, const exec::Code* ip, unsigned lane,
                     std::uint64_t address, std::uint64_t bytes, Touch how, bool strong,
                     const std::byte* value);
    void signal(const exec::Warp& w, unsigned lane, std::uint64_t address, bool takes, bool leaves,
                bool all);
    void check_members(const exec::Warp& w, const exec::Code* ip, const Use& use);
    void check_gone(const exec::Warp& w, const exec::Code* ip, std::uint32_t who,
                    std::uint32_t named);
    void report_race(const Access& now, bool writes, const Access& before, bool wrote,
                     std::uint64_t address, std::uint64_t bytes);
    bool is_sync_news(const exec::Code* ip);
    void write_sync(const exec::Warp& w, const exec::Code* ip, std::uint32_t who,
                    const std::string& what, std::vector<std::string> more = {});
    bool is_own(std::uint64_t address) const;  // a thread's own memory, or a parameter
    bool is_shared(std::uint64_t address) const;
    std::string place_text(std::uint64_t address) const;
    std::string thread_text(std::uint32_t block, unsigned thread) const;

    GridWatch& grid_;
    exec::BlockState& block_;
    std::uint32_t number_ = 0;
    Clocks clocks_;
    Meeting gone_;  // what threads knew as they exited
    Barrier barriers_[16];
};

}  // namespace cupola::cpu::watch
