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
#include "cpu/isa/code.hpp"
#include "cpu/sanitizer/clock.hpp"
#include "cpu/sanitizer/init_shadow.hpp"
#include "cpu/sanitizer/races.hpp"
#include "cpu/sanitizer/use.hpp"

namespace cupola::cpu::interpreter {
class BlockState;
struct KernelCode;
}  // namespace cupola::cpu::interpreter

namespace cupola::cpu::sanitizer {

// The kind of an access. `signal`: an operation that orders others, such as on an mbarrier.
enum class Touch : std::uint8_t { read, write, atomic, signal };

// A kernel's code, made once, with handlers that return after one instruction. Debuggers use it
// too.
struct CheckedOp {
    explicit CheckedOp(const interpreter::KernelCode& kernel);

    const std::uint64_t number;  // different for each kernel of the process
    std::vector<interpreter::DecodedOp> code;
    std::vector<interpreter::Handler> handlers;
    std::vector<Use> uses;
};

std::shared_ptr<const CheckedOp> checked_code(const interpreter::KernelCode& kernel);

// State that the blocks of a grid share.
class GridChecks {
  public:
    explicit GridChecks(const Launch& launch);

    const Launch& launch;
    const interpreter::KernelCode& kernel;
    const std::shared_ptr<const CheckedOp> watched;
    const std::vector<interpreter::DecodedOp>& code;

    Races races;
    std::map<std::uintptr_t, ReleaseClock> letters;  // by the address of the release
    std::uint64_t versions = 0;                      // of the letters
    // A cluster's barrier: the releases of arriving lanes, and their join once it is complete.
    struct ClusterBarrier {
        ReleaseClock come, passed;
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
class BlockChecks {
  public:
    BlockChecks(GridChecks& grid, interpreter::BlockState& block);
    void begin(Dim3 block);
    void end();  // all threads have exited

    // Executes one instruction and checks it.
    const interpreter::DecodedOp* step(const interpreter::DecodedOp* ip, interpreter::Warp& w);
    // Checks an access that is not a plain load, store or atomic.
    void touch(const interpreter::Warp& w, const interpreter::DecodedOp* ip, unsigned lane,
               std::uint64_t address, std::uint64_t bytes, Touch how);
    // malloc returned whole words, which may have been allocated before.
    void allocated(std::uintptr_t begin, std::uint64_t bytes);

    // sync.cpp: the barriers of the block and the warp
    void arrive(const interpreter::Warp& w, const interpreter::DecodedOp* ip, std::uint32_t id,
                std::uint32_t count, std::uint32_t before, std::uint32_t others);
    void pass(const interpreter::Warp& w, std::uint32_t mask, std::int32_t barrier);
    void complete(std::uint32_t id, std::uint32_t count);
    void exited(const interpreter::Warp& w);
    void synchronised(const interpreter::Warp& w, std::uint32_t mask);
    void let_go(const interpreter::Warp& w, const interpreter::Waiting& waiting,
                std::uint32_t come);
    void forced(const interpreter::Warp& w, const interpreter::Waiting& waiting);
    void stuck();
    void cluster_complete();  // all lanes have arrived at the cluster's barrier
    void cluster_passed(const interpreter::Warp& w, std::uint32_t mask);

  private:
    struct Barrier {
        JoinClock meeting;
        // for each warp, the instruction by which its lanes arrived
        std::vector<const interpreter::DecodedOp*> by;
        Known outcome;
    };

    unsigned thread(const interpreter::Warp& w, unsigned lane) const;
    Access access(const interpreter::Warp& w, const interpreter::DecodedOp* ip, unsigned lane,
                  bool strong) const;
    void look(const interpreter::Warp& w, const interpreter::DecodedOp* ip, const Use& use,
              std::uint32_t mask);
    void touch_plain(const interpreter::Warp& w, const interpreter::DecodedOp* ip, unsigned lane,
                     std::uint64_t address, std::uint64_t bytes, Touch how, bool strong,
                     const std::byte* value);
    void signal(const interpreter::Warp& w, unsigned lane, std::uint64_t address, bool takes,
                bool leaves, bool all);
    void check_members(const interpreter::Warp& w, const interpreter::DecodedOp* ip,
                       const Use& use);
    void check_gone(const interpreter::Warp& w, const interpreter::DecodedOp* ip, std::uint32_t who,
                    std::uint32_t named);
    void report_race(const Access& now, bool writes, const Access& before, bool wrote,
                     std::uint64_t address, std::uint64_t bytes);
    bool is_sync_news(const interpreter::DecodedOp* ip);
    void write_sync(const interpreter::Warp& w, const interpreter::DecodedOp* ip, std::uint32_t who,
                    const std::string& what, std::vector<std::string> more = {});
    bool is_own(std::uint64_t address) const;  // a thread's own memory, or a parameter
    bool is_shared(std::uint64_t address) const;
    std::string place_text(std::uint64_t address) const;
    std::string thread_text(std::uint32_t block, unsigned thread) const;

    GridChecks& grid_;
    interpreter::BlockState& block_;
    std::uint32_t number_ = 0;
    Clocks clocks_;
    JoinClock gone_;  // knowledge of threads at their exit
    Barrier barriers_[16];
};

}  // namespace cupola::cpu::sanitizer
