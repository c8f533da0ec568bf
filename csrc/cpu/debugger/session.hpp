// csrc/cpu/debugger/session.hpp - the debugger's door: one front end, by a socket or in-process.
//
// At most one launch is stopped. The thread that runs it answers the front end's requests, and
// other launches wait.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "cpu/debugger/stops.hpp"

namespace cupola::cpu::debugger {

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

    // A launch is about to begin. Null if the front end lets it run without stops.
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

}  // namespace cupola::cpu::debugger
