// csrc/cpu/base/condition.hpp - a condition variable that needs no newer symbol version.
//
// std::condition_variable::wait has the symbol version GLIBCXX_3.4.30, which would raise the
// platform tag of wheels. The pthread functions have had one version since glibc 2.3.2.
#pragma once

#include <pthread.h>
#include <time.h>

#include <chrono>
#include <mutex>

namespace cupola::cpu {

class Condition {
  public:
    Condition() {
        pthread_condattr_t attributes;
        pthread_condattr_init(&attributes);
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        pthread_cond_init(&condition_, &attributes);
        pthread_condattr_destroy(&attributes);
    }
    ~Condition() { pthread_cond_destroy(&condition_); }
    Condition(const Condition&) = delete;
    Condition& operator=(const Condition&) = delete;

    void wait(std::unique_lock<std::mutex>& lock) {
        pthread_cond_wait(&condition_, lock.mutex()->native_handle());
    }
    // May return early, like any wait.
    void wait_for(std::unique_lock<std::mutex>& lock, std::chrono::nanoseconds duration) {
        timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        const long long total = until.tv_nsec + duration.count();
        until.tv_sec += total / 1000000000;
        until.tv_nsec = total % 1000000000;
        pthread_cond_timedwait(&condition_, lock.mutex()->native_handle(), &until);
    }
    void notify_one() { pthread_cond_signal(&condition_); }
    void notify_all() { pthread_cond_broadcast(&condition_); }

  private:
    pthread_cond_t condition_;
};

// A hint to the processor in a loop that waits for another thread's store.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// Spins for `ready` for about the time of a sleep and a wakeup. True if it became ready.
template <class Ready>
bool spin(Ready&& ready, std::chrono::nanoseconds limit) {
    if (ready()) return true;
    const auto until = std::chrono::steady_clock::now() + limit;
    do {
        for (int i = 0; i < 32; ++i) {
            relax();
            if (ready()) return true;
        }
    } while (std::chrono::steady_clock::now() < until);
    return false;
}

}  // namespace cupola::cpu
