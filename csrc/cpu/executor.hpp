// csrc/cpu/executor.hpp - the threads that run streams. A stream with work has one to itself, so
// that a host function or a wait in one stream holds up no other; without work it has none.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "cpu/condition.hpp"

namespace cupola::cpu {

class Stream;

class Executors {
  public:
    explicit Executors(int threads);

    // Has the stream drained, by an idle thread if there is one, else by a new one. False: none
    // can be started.
    [[nodiscard]] bool start(std::shared_ptr<Stream> stream);
    // How long a thread watches for more work before it sleeps.
    std::chrono::nanoseconds linger() const { return linger_; }
    // No thread passes this after stop().
    void checkpoint() {
        if (__builtin_expect(stopping_.load(std::memory_order_relaxed), 0)) park();
    }
    void stop() { stopping_.store(true); }
    [[noreturn]] static void park();

  private:
    struct Executor;
    static void* main(void* executor);
    void loop(Executor& self);

    const std::chrono::nanoseconds linger_;
    std::atomic<bool> stopping_{false};
    std::mutex mutex_;
    std::vector<Executor*> idle_;
};

// Starts a detached thread which takes no signals: those are the program's. False: the system
// refuses it.
[[nodiscard]] bool start_thread(void* (*main)(void*), void* argument);

}  // namespace cupola::cpu
