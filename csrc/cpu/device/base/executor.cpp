// csrc/cpu/device/base/executor.cpp - starts and reuses the threads that run streams.
#include "cpu/device/base/executor.hpp"

#include <unistd.h>

#include <new>

namespace cupola::cpu {

struct Executors::Executor {
    Executors* owner;
    std::atomic<bool> assigned{false};
    std::shared_ptr<ExecutorTask> task;
    std::mutex mutex;
    Condition wake;
};

// On a single core, spinning would only delay the other thread.
Executors::Executors(int)
    : linger_(sysconf(_SC_NPROCESSORS_ONLN) > 1 ? std::chrono::microseconds(30)
                                                : std::chrono::microseconds(0)) {}

bool Executors::start(std::shared_ptr<ExecutorTask> task) {
    Executor* executor = nullptr;
    {
        std::lock_guard lock(mutex_);
        if (!idle_.empty()) {
            // Take the thread that ran last, because it is probably still awake.
            executor = idle_.back();
            idle_.pop_back();
        }
    }
    if (!executor) {
        std::unique_ptr<Executor> fresh(new (std::nothrow) Executor);
        if (!fresh) return false;
        fresh->owner = this;
        fresh->task = std::move(task);
        fresh->assigned = true;
        if (!start_thread(&Executors::main, fresh.get())) return false;
        [[maybe_unused]] const Executor* given = fresh.release();  // the thread owns it
        return true;
    }
    std::lock_guard lock(executor->mutex);
    executor->task = std::move(task);
    executor->assigned.store(true, std::memory_order_release);
    executor->wake.notify_one();
    return true;
}

void* Executors::main(void* argument) {
    std::unique_ptr<Executor> self(static_cast<Executor*>(argument));
    self->owner->loop(*self);
    return nullptr;
}

void Executors::loop(Executor& self) {
    for (;;) {
        {
            std::unique_lock lock(self.mutex);
            while (!self.assigned.load(std::memory_order_acquire)) self.wake.wait(lock);
            self.assigned.store(false, std::memory_order_relaxed);
        }
        checkpoint();
        self.task->attend();
        self.task.reset();
        std::lock_guard lock(mutex_);
        idle_.push_back(&self);
    }
}

}  // namespace cupola::cpu
