// csrc/cpu/watch/watch.hpp - checks a grid while it runs.
//
// Instructions run one by one, and the checks see each effect. A checked grid runs on one thread.
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

// The kind of an access. `signal`: an operation that orders others, such as on an mbarrier.
enum class Touch : std::uint8_t { read, write, atomic, signal };

// A kernel's code, made once, with handlers that return after one instruction.
struct WatchedCode {
    explicit WatchedCode(const exec::KernelCode& kernel);

    std::vector<exec::Code> code;
    std::vector<exec::Handler> handlers;
    std::vector<Use> uses;
};

// State that the blocks of a grid share.
class GridWatch {
  public:
    explicit GridWatch(const Launch& launch);

    const Launch& launch;
    const exec::KernelCode& kernel;
    const std::shared_ptr<const WatchedCode> watched;
    const std::vector<exec::Code>& code;

    Races races;
    std::map<std::uintptr_t, Letter> letters;  // by the address of the release
    std::uint64_t versions = 0;                // of the letters
    // A cluster's barrier: the releases of arriving lanes, and their join once it is complete.
    struct ClusterBarrier {
        Letter come, passed;
    };
    std::map<std::uintptr_t, ClusterBarrier> clusters;  // by start of their shared memory
    Unwritten unwritten;                                // of shared memory

    // The key of a finding: PTX lines of one source line have one key.
    std::string key(const char* check, std::uint32_t line, std::uint32_t other = 0);

  private:
    const std::string& place(std::uint32_t line);
    std::unordered_map<std::uint32_t, std::string> places_;
};

// Checks a running block.
class BlockWatch {
  public:
    BlockWatch(GridWatch& grid, exec::BlockState& block);
    void begin(Dim3 block);
    void end();  // all threads have exited

    // Executes one instruction and checks it.
    const exec::Code* step(const exec::Code* ip, exec::Warp& w);
    // Checks an access that is not a plain load, store or atomic.
    void touch(const exec::Warp& w, const exec::Code* ip, unsigned lane, std::uint64_t address,
               std::uint64_t bytes, Touch how);
    // malloc returned whole words, which may have been allocated before.
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
    void cluster_complete();  // all lanes have arrived at the cluster's barrier
    void cluster_passed(const exec::Warp& w, std::uint32_t mask);

  private:
    struct Barrier {
        Meeting meeting;
        // for each warp, the instruction by which its lanes arrived
        std::vector<const exec::Code*> by;
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
    Meeting gone_;  // knowledge of threads at their exit
    Barrier barriers_[16];
};

}  // namespace cupola::cpu::watch
