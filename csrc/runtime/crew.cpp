// csrc/runtime/crew.cpp - a few threads that wait for work, made when they are first needed.
#include "runtime/crew.hpp"

#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>

namespace cupola {
namespace {

constexpr std::size_t most = 8;  // threads; more do not copy faster

struct Crew {
    std::mutex turn;  // of the copy that has the helpers
    std::mutex mutex;
    std::condition_variable wake, done;
    const std::function<void(std::size_t)>* work = nullptr;
    std::size_t next = 0, count = 0, running = 0, threads = 0;
};

// Never destroyed: the helpers live as long as the process.
Crew& crew() {
    static Crew* const crew = new Crew;
    return *crew;
}

// Takes the next piece of work as long as there is one; `lock` is of the crew's mutex.
void take_part(Crew& c, std::unique_lock<std::mutex>& lock) {
    while (c.work && c.next < c.count) {
        const std::size_t mine = c.next++;
        const auto* work = c.work;
        ++c.running;
        lock.unlock();
        (*work)(mine);
        lock.lock();
        if (--c.running == 0 && c.next == c.count) c.done.notify_all();
    }
}

void help() {
    Crew& c = crew();
    std::unique_lock<std::mutex> lock(c.mutex);
    for (;;) {
        c.wake.wait(lock, [&] { return c.work && c.next < c.count; });
        take_part(c, lock);
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

std::size_t crew_size() {
    static const std::size_t size = [] {
        const char* asked = std::getenv("CUPOLA_STAGING_THREADS");
        if (asked && *asked)
            return std::clamp<std::size_t>(std::strtoull(asked, nullptr, 10), 1, most);
        cpu_set_t set;
        const int all = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
        return std::clamp<std::size_t>(static_cast<std::size_t>(all) / 2, 1, most);
    }();
    return size;
}

void crew_run(std::size_t count, const std::function<void(std::size_t)>& work) {
    Crew& c = crew();
    std::unique_lock<std::mutex> turn(c.turn, std::try_to_lock);
    if (count <= 1 || !turn) {
        for (std::size_t i = 0; i < count; ++i) work(i);
        return;
    }
    std::unique_lock<std::mutex> lock(c.mutex);
    while (c.threads + 1 < count) {
        const std::size_t before = c.threads;
        start_helper();
        if (c.threads == before) break;
    }
    c.work = &work;
    c.next = 0;
    c.count = count;
    c.wake.notify_all();
    take_part(c, lock);
    c.done.wait(lock, [&] { return c.running == 0; });
    c.work = nullptr;
}

}  // namespace cupola
