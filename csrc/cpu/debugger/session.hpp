// csrc/cpu/debugger/session.hpp - the session with a front end, by a socket or in-process, and the
// places where a launch stops for it.
//
// A launch that a debugger concerns is interpreted, on one thread. Before each instruction, the
// stops of its grid decide whether it stops.
//
// At most one launch is stopped. The thread that runs it answers the front end's requests, and
// other launches wait.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "cpu/debugger/request.hpp"
#include "cpu/interpreter/block.hpp"
#include "cpu/interpreter/stepped_code.hpp"
#include "cpu/observe/observer.hpp"

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
    std::uint32_t lanes = 0;                 // the lanes for which the reason is true
};

class GridStops final : public observe::GridObserver {
  public:
    GridStops(Session& session, const Launch& launch);
    ~GridStops() override;  // reports the end of the launch
    GridStops(const GridStops&) = delete;
    GridStops& operator=(const GridStops&) = delete;

    // Called before an instruction; the warp then executes the one returned. `halt`: its time slice
    // has ended, because other warps make their step first, or because the launch ends.
    const interpreter::DecodedOp* before(interpreter::BlockState& block, interpreter::Warp& w,
                                         const interpreter::DecodedOp* ip);
    std::unique_ptr<observe::BlockObserver> of_block(interpreter::BlockState& block) override;
    bool sees_effects() const override { return false; }
    bool pauses() const override { return true; }

    // The front end calls these. Statements and breakpoints have the size of the code.
    void set_statements(Statements statements);
    void set_breakpoints(std::vector<Breakpoint> breakpoints);
    void begin_step(Step::Scope scope, bool into, bool leave, interpreter::BlockState& block,
                    interpreter::Warp& w, unsigned lane, const interpreter::Warp& running);
    // The end of the launch is not reported.
    void silence() { silent_ = true; }

    std::uint32_t index_of(const interpreter::DecodedOp* ip) const { return stepped->index_of(ip); }

    const Launch& launch;
    const interpreter::KernelCode& kernel;
    const std::shared_ptr<const interpreter::SteppedCode> stepped;

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

// A front end in this process. It receives an event, makes requests by Session::request() until one
// of them resumes the launch, and returns. Nonzero for the event `poll`: stop at the next line.
using Handler = int (*)(const char* event);

// The place where a launch is stopped; without a block, the launch is about to begin, or has ended.
struct Stopped {
    GridStops& grid;
    interpreter::BlockState* block = nullptr;
    interpreter::Warp* warp = nullptr;
    const interpreter::DecodedOp* ip = nullptr;
};

// The effect of a request on the launch, besides its reply.
enum class Outcome : std::uint8_t { stay, resume, pass, skip, end };

// answer.cpp: the reply begins with '+', or with '-' and the reason of a refusal.
Outcome answer(const Stopped& at, std::string_view payload, std::string& reply);
std::string launch_event(const GridStops& grid);
std::string stop_event(const Stopped& at, const Reason& why);

class Session {
  public:
    // Null unless a front end is attached.
    static Session* get() { return instance.load(std::memory_order_acquire); }
    // Whether a launch runs in the thread that makes it, so that it stops there.
    static bool in_process() {
        Session* const session = get();
        return __builtin_expect(session != nullptr, 0) && session->handler_;
    }
    // Connects to a front end's Unix socket. False, and why in `error`.
    static bool connect(const std::string& path, std::string& error);
    // False if a front end is attached by a socket.
    static bool attach(Handler handler);

    // Called when a launch is about to begin. Returns null if the front end lets the launch run
    // without stops.
    std::shared_ptr<GridStops> launched(const Launch& launch);
    void ended(GridStops& grid);
    Outcome stop(GridStops& grid, interpreter::BlockState& block, interpreter::Warp& w,
                 const interpreter::DecodedOp* ip, const Reason& why);
    void wait_while_stopped() {
        if (__builtin_expect(stopped_.load(std::memory_order_relaxed), 0))
            std::lock_guard wait(mutex_);
    }
    void poll();  // whether the front end wants to pause
    bool take_pause() { return pause_.load(std::memory_order_relaxed) && pause_.exchange(false); }
    // Inside of a handler; `leave` also after it, from another thread, once the launch may return
    // with the error of its end. Valid until the next one.
    const std::string& request(std::string_view payload);
    // Sends text of the program to a front end at the socket.
    bool note(std::string_view text);

  private:
    Outcome converse(const Stopped& at, const std::string& event);
    Outcome listen(const Stopped& at);
    bool send(std::string_view payload);
    bool read(void* to, std::size_t bytes, const Stopped* at);
    bool receive(std::string& payload, const Stopped* at);
    void lose();

    static std::atomic<Session*> instance;

    std::mutex mutex_;
    std::atomic<bool> stopped_{false}, pause_{false}, lost_{false}, left_{false};
    int socket_ = -1;
    std::atomic<Handler> handler_{nullptr};
    const Stopped* at_ = nullptr;  // in-process: where the handler's requests apply
    Outcome outcome_ = Outcome::stay;
    std::string reply_;
};

// Observes the launches in which the front end, if one is attached, wants to stop.
observe::Observer& observer();

}  // namespace cupola::cpu::debugger
