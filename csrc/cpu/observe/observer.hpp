// csrc/cpu/observe/observer.hpp - the interface of what observes launches: the checks, the debugger
// and coverage.
//
// The engine calls this interface, and includes none of its implementations. Start-up connects
// them. A launch without an observer costs a test of a null pointer where it could notify one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cpu/base/fault.hpp"
#include "cpu/observe/counters.hpp"

namespace cupola::ptx {
struct Module;
}

namespace cupola::cpu {

struct Launch;

namespace interpreter {
class BlockState;
struct DecodedOp;
struct Waiting;
struct Warp;
}  // namespace interpreter

namespace observe {

// The kind of an access. `signal`: an operation that orders other accesses, such as on an mbarrier.
enum class Touch : std::uint8_t { read, write, atomic, signal };

// Sees a block run. The block executes its instructions one by one.
class BlockObserver {
  public:
    using Op = interpreter::DecodedOp;
    using Warp = interpreter::Warp;
    using Waiting = interpreter::Waiting;

    virtual ~BlockObserver() = default;
    virtual void begin(std::uint32_t, std::uint32_t, std::uint32_t) {}  // the index of the block
    virtual void end() {}                                               // all threads have exited

    // Called before an instruction. The warp then executes the one returned; `halt` ends its time
    // slice.
    virtual const Op* before(Warp&, const Op* ip) { return ip; }
    // Called after an instruction of the lanes in `mask`.
    virtual void after(Warp&, const Op*, std::uint32_t /*mask*/) {}
    // An access that is not a plain load, store or atomic.
    virtual void touch(const Warp&, const Op*, unsigned /*lane*/, std::uint64_t /*address*/,
                       std::uint64_t /*bytes*/, Touch) {}
    // A place in tensor memory is read, and no thread wrote it since its columns were allocated.
    virtual void unwritten(const Warp&, const Op*, unsigned /*lane*/,
                           const std::string& /*place*/) {}
    // An address of tensor memory has `lane`, and the warp's own lanes, which it uses, begin at
    // `first`.
    virtual void other_lanes(const Warp&, const Op*, unsigned /*lane*/, unsigned /*first*/) {}
    // malloc of device code returned these words, which may have been allocated before.
    virtual void allocated(std::uintptr_t /*begin*/, std::uint64_t /*bytes*/) {}

    // Lanes arrive at a barrier of the block. `before`: lanes of the warp that arrived earlier;
    // `others`: threads of the block that have arrived.
    virtual void arrive(const Warp&, const Op*, std::uint32_t /*id*/, std::uint32_t /*count*/,
                        std::uint32_t /*before*/, std::uint32_t /*others*/) {}
    virtual void complete(std::uint32_t /*id*/, std::uint32_t /*count*/) {}
    virtual void pass(const Warp&, std::uint32_t /*mask*/, std::int32_t /*barrier*/) {}
    virtual void exited(const Warp&) {}
    // Lanes that waited for each other at a warp barrier are released.
    virtual void let_go(const Warp&, const Waiting&, std::uint32_t /*come*/) {}
    // Lanes are released although the lanes that they wait for are waiting elsewhere.
    virtual void forced(const Warp&, const Waiting&) {}
    virtual void stuck() {}             // a deadlock
    virtual void cluster_complete() {}  // all lanes have arrived at the cluster's barrier
    virtual void cluster_passed(const Warp&, std::uint32_t /*mask*/) {}

    std::unique_ptr<BlockObserver> next;  // another observer of the same block
};

// Sees a grid run.
class GridObserver {
  public:
    virtual ~GridObserver() = default;
    virtual std::unique_ptr<BlockObserver> of_block(interpreter::BlockState& block) = 0;
    // Whether the observer sees accesses and barriers too, not instructions alone.
    virtual bool sees_effects() const { return true; }
    // Whether the grid may wait for a person. It then has no time limit, and runs on one thread.
    virtual bool pauses() const { return false; }
};

// A fault of a thread, in text.
struct FaultReport {
    FaultKind kind;
    std::uint32_t ptx_line;
    const std::string &line, &thread, &what;
};

class Observer {
  public:
    virtual ~Observer() = default;
    // A grid is about to run. Null: its blocks are not observed.
    virtual std::shared_ptr<GridObserver> launched(const Launch&) { return nullptr; }
    // Called before a module is decoded. Returns null if nothing in the module is counted.
    virtual std::shared_ptr<ModuleCounters> counters_of(const ptx::Module&, std::string_view) {
        return nullptr;
    }
    virtual void faulted(const Launch&, const FaultReport&) {}
};

// Observers see the launches that follow, in the order in which they were connected. Connected once
// in a process, before its first launch.
void connect(Observer& observer);

// The grid observers of all connected observers.
std::vector<std::shared_ptr<GridObserver>> launched(const Launch& launch);
std::shared_ptr<ModuleCounters> counters_of(const ptx::Module& module, std::string_view text);
void faulted(const Launch& launch, const FaultReport& report);

}  // namespace observe
}  // namespace cupola::cpu
