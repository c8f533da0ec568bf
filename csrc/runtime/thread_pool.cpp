// csrc/runtime/crew.cpp - a few threads that wait for work, made when they are first needed.
#include "runtime/crew.hpp"

#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

#include "runtime/driver.hpp"

namespace cupola {
namespace {

constexpr std::size_t most = most_crew / 2;  // threads a direction; more do not copy faster

// Calls that are to be made; it lies on the stack of the one who waits for them.
struct Job {
    const std::function<void(std::size_t)>& work;
    std::size_t count, next = 0, running = 0;

    bool left() const { return next < count; }
};

struct Crew {
    std::mutex mutex;
    std::condition_variable wake, done;
    std::deque<Job*> jobs;  // of which something is left
    std::size_t threads = 0;
};

// Never destroyed: the helpers live as long as the process.
Crew& crew() {
    static Crew* const crew = new Crew;
    return *crew;
}

// One call of the job; `lock` is of the crew's mutex.
void take_part(Crew& c, Job& job, std::unique_lock<std::mutex>& lock) {
    const std::size_t mine = job.next++;
    if (!job.left()) c.jobs.erase(std::find(c.jobs.begin(), c.jobs.end(), &job));
    ++job.running;
    lock.unlock();
    job.work(mine);
    lock.lock();
    if (--job.running == 0 && !job.left()) c.done.notify_all();
}

void help() {
    Crew& c = crew();
    std::unique_lock<std::mutex> lock(c.mutex);
    for (;;) {
        c.wake.wait(lock, [&] { return !c.jobs.empty(); });
        take_part(c, *c.jobs.front(), lock);
    }
}

// Signals are for the program's own threads.
void start_helper() {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    try {
        std::thread(help).detach();
        ++crew().threads;
    } catch (const std::system_error&) {  // with fewer helpers the work is done as well
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

std::size_t crew_size(std::size_t directions) {
    if (const std::uint64_t asked = driver().staging.threads) return asked;
    static const std::size_t all = [] {
        cpu_set_t set;
        return sched_getaffinity(0, sizeof set, &set) == 0
                   ? static_cast<std::size_t>(CPU_COUNT(&set))
                   : 1;
    }();
    return std::clamp<std::size_t>(directions * all / 2, 1, directions * most);
}

void crew_run(std::size_t count, const std::function<void(std::size_t)>& work) {
    if (count <= 1) {
        if (count) work(0);
        return;
    }
    Crew& c = crew();
    std::unique_lock<std::mutex> lock(c.mutex);
    while (c.threads + 1 < count) {
        const std::size_t before = c.threads;
        start_helper();
        if (c.threads == before) break;
    }
    Job job{work, count};
    c.jobs.push_back(&job);
    c.wake.notify_all();
    while (job.left()) take_part(c, job, lock);
    c.done.wait(lock, [&] { return job.running == 0; });
}

}  // namespace cupola
