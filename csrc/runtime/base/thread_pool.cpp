// csrc/runtime/base/thread_pool.cpp - a pool of threads, started at first use.
#include "runtime/base/thread_pool.hpp"

#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

namespace cupola {
namespace {

constexpr std::size_t max_per_direction = max_pool_threads / 2;  // more threads do not copy faster

// The calls of one run_in_pool, on the stack of its caller.
struct Job {
    const std::function<void(std::size_t)>& work;
    std::size_t count, next = 0, running = 0;

    bool has_calls() const { return next < count; }
};

struct Pool {
    std::mutex mutex;
    std::condition_variable wake, done;
    std::deque<Job*> jobs;  // jobs with calls that have not begun
    std::size_t threads = 0;
};

// Never destroyed: its threads live as long as the process.
Pool& pool() {
    static Pool* const pool = new Pool;
    return *pool;
}

// Makes one call of the job; `lock` holds the pool's mutex.
void call_once(Pool& p, Job& job, std::unique_lock<std::mutex>& lock) {
    const std::size_t index = job.next++;
    if (!job.has_calls()) p.jobs.erase(std::find(p.jobs.begin(), p.jobs.end(), &job));
    ++job.running;
    lock.unlock();
    job.work(index);
    lock.lock();
    if (--job.running == 0 && !job.has_calls()) p.done.notify_all();
}

void thread_main() {
    Pool& p = pool();
    std::unique_lock<std::mutex> lock(p.mutex);
    for (;;) {
        p.wake.wait(lock, [&] { return !p.jobs.empty(); });
        call_once(p, *p.jobs.front(), lock);
    }
}

// Blocks all signals in the new thread: the program's own threads handle them.
void start_thread() {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    try {
        std::thread(thread_main).detach();
        ++pool().threads;
    } catch (const std::system_error&) {  // fewer threads do the work
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

std::size_t default_pool_threads(std::size_t directions) {
    static const std::size_t processors = [] {
        cpu_set_t set;
        return sched_getaffinity(0, sizeof set, &set) == 0
                   ? static_cast<std::size_t>(CPU_COUNT(&set))
                   : 1;
    }();
    return std::clamp<std::size_t>(directions * processors / 2, 1, directions * max_per_direction);
}

void run_in_pool(std::size_t count, const std::function<void(std::size_t)>& work) {
    if (count <= 1) {
        if (count) work(0);
        return;
    }
    Pool& p = pool();
    std::unique_lock<std::mutex> lock(p.mutex);
    while (p.threads + 1 < count) {
        const std::size_t before = p.threads;
        start_thread();
        if (p.threads == before) break;
    }
    Job job{work, count};
    p.jobs.push_back(&job);
    p.wake.notify_all();
    while (job.has_calls()) call_once(p, job, lock);
    p.done.wait(lock, [&] { return job.running == 0; });
}

}  // namespace cupola
