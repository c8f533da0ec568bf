// csrc/cpu/device/base/executor.hpp - the threads that run streams. A stream with work has its own
// thread, so a host function or a wait in one stream does not block others. A stream without work
// has none.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "cpu/base/condition.hpp"
#include "cpu/base/thread.hpp"

namespace cupola::cpu {

// The queued work of a stream, which an executor's thread runs.
class ExecutorTask {
  public:
    virtual ~ExecutorTask() = default;
    virtual void attend() = 0;
};

class Executors {
  public:
    explicit Executors(int threads);

    // Lets an idle thread, or a new one, run the work. False if no thread can be started.
    [[nodiscard]] bool start(std::shared_ptr<ExecutorTask> task);
    // The time that a thread spins for more work before it sleeps.
    std::chrono::nanoseconds linger() const { return linger_; }
    // No thread passes this after stop().
    void checkpoint() {
        if (__builtin_expect(stopping_.load(std::memory_order_relaxed), 0)) park_thread();
    }
    void stop() { stopping_.store(true); }

  private:
    struct Executor;
    static void* main(void* executor);
    void loop(Executor& self);

    const std::chrono::nanoseconds linger_;
    std::atomic<bool> stopping_{false};
    std::mutex mutex_;
    std::vector<Executor*> idle_;
};

}  // namespace cupola::cpu
