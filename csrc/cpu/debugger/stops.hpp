// csrc/cpu/debugger/stops.hpp - decides before each instruction of a launch whether it stops.
//
// A launch that a debugger concerns is interpreted, on one thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cpu/debugger/request.hpp"
#include "cpu/interpreter/kernel.hpp"
#include "cpu/sanitizer/sanitizer.hpp"

namespace cupola::cpu::interpreter {
class BlockState;
}

namespace cupola::cpu::debugger {

class Session;

// A step to another source line, of a lane, of the lanes of a warp, or of those of a block.
struct Step {
    enum class Scope : std::uint8_t { none, lane, warp, block } scope = Scope::none;
    // into: stops in functions that the lines call. leave: stops when the function has returned.
    bool into = false, leave = false;
    const interpreter::BlockState* block = nullptr;
    std::uint32_t index_of_block[3] = {};
    struct Position {
        std::uint32_t statement, depth;
    };
    std::vector<std::array<Position, interpreter::lanes>> start;  // by warp
    std::vector<std::uint32_t> pending;  // by warp: lanes that have not made the step
};

// Why a launch stops.
struct Reason {
    enum class Kind : std::uint8_t { none, breakpoint, step, pause } kind = Kind::none;
    std::vector<std::uint32_t> breakpoints;  // their ids
    std::uint32_t lanes = 0;                 // that the reason is true for
};

class GridStops {
  public:
    GridStops(Session& session, const Launch& launch);
    ~GridStops();  // reports the end of the launch
    GridStops(const GridStops&) = delete;
    GridStops& operator=(const GridStops&) = delete;

    // Called before an instruction; the warp then executes the one returned. `halt`: its time slice
    // has ended, because other warps make their step first, or because the launch ends.
    const interpreter::DecodedOp* before(interpreter::BlockState& block, interpreter::Warp& w,
                                         const interpreter::DecodedOp* ip);
    const interpreter::DecodedOp* execute(const interpreter::DecodedOp* ip, interpreter::Warp& w) {
        return checked->handlers[index_of(ip)](ip, w, w.registers);
    }

    // By the front end. The sizes of statements and breakpoints are those of the code.
    void set_statements(Statements statements);
    void set_breakpoints(std::vector<Breakpoint> breakpoints);
    void begin_step(Step::Scope scope, bool into, bool leave, interpreter::BlockState& block,
                    interpreter::Warp& w, unsigned lane, const interpreter::Warp& running);
    // The end of the launch is not reported.
    void silence() { silent_ = true; }

    std::uint32_t index_of(const interpreter::DecodedOp* ip) const {
        return static_cast<std::uint32_t>(ip - checked->code.data());
    }

    const Launch& launch;
    const interpreter::KernelCode& kernel;
    const std::shared_ptr<const sanitizer::CheckedOp> checked;

  private:
    bool begins(std::uint32_t op) const { return (statements_.of_op[op] & Statements::begin) != 0; }
    Reason hits(const interpreter::BlockState& block, const interpreter::Warp& w,
                std::uint32_t op) const;
    Reason step_end(interpreter::BlockState& block, const interpreter::Warp& w, std::uint32_t op);
    bool stop(interpreter::BlockState& block, interpreter::Warp& w,
              const interpreter::DecodedOp* ip, const Reason& why);
    std::uint32_t hit(const Breakpoint& b, const interpreter::BlockState& block,
                      const interpreter::Warp& w) const;
    bool is_stepped(const interpreter::BlockState& block) const;
    Step::Position position(const interpreter::Warp& w, unsigned lane, std::uint32_t op) const;
    void note_progress(const interpreter::Warp& w, std::uint32_t op);
    std::uint32_t pending(const interpreter::Warp& w) const;
    bool others_pending(interpreter::BlockState& block, const interpreter::Warp& w) const;

    Session& session_;
    Statements statements_;
    std::vector<Breakpoint> breakpoints_;
    std::vector<bool> marked_;  // operations with a breakpoint
    Step step_;
    std::uint32_t executed_ = 0;
    bool silent_ = false;
};

}  // namespace cupola::cpu::debugger
