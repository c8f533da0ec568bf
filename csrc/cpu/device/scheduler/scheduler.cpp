// csrc/cpu/device/scheduler/scheduler.cpp - distributes blocks to workers, stops grids, and
// enforces time limits.
#include "cpu/device/scheduler/scheduler.hpp"

#include <algorithm>

#include "cpu/base/thread.hpp"
#include "cpu/device/scheduler/cooperative_grid.hpp"
#include "cpu/device/scheduler/seeded_grid.hpp"
#include "cpu/observe/observer.hpp"

namespace cupola::cpu {
namespace {

using Clock = std::chrono::steady_clock;

// The cost of waking a thread. A grid that takes less time runs on one thread.
constexpr std::chrono::microseconds worth_waking{25};
constexpr std::chrono::microseconds helper_linger{30};

Fault no_memory() { return {Fault::Kind::out_of_memory, "no memory for a block"}; }

void renew(std::unique_ptr<ClusterRunner>& runner, const Launch& launch) {
    try {
        runner = ClusterRunner::make(launch);
    } catch (const std::bad_alloc&) {  // the old runner still runs
    }
}

bool wants_help(const Grid& grid) {
    if (grid.stop.load()) return false;
    return grid.cooperative ? grid.cooperative->wants_help() : !grid.queue.empty();
}

void attach_observers(Grid& grid) {
    try {
        grid.launch.observers = observe::launched(grid.launch);
    } catch (const std::bad_alloc&) {
        grid.note(no_memory());
    }
    for (const auto& each : grid.launch.observers) grid.pauses |= each->pauses();
}

}  // namespace

// A worker takes as many clusters at a time as run in about `turn`. That is long against the cost
// of taking them and against the prefetch distance of a core, and short enough to balance the end.
// A kernel may be compiled meanwhile: then the next clusters run as machine code.
void Scheduler::work(Grid& grid, std::unique_ptr<ClusterRunner>& runner, unsigned worker) {
    constexpr std::chrono::microseconds turn{50};
    std::uint64_t most = 1;
    auto begin = Clock::now();
    while (!grid.stop.load(std::memory_order_relaxed)) {
        std::uint64_t first, end;
        if (!grid.queue.take(worker, most, first, end)) return;
        const std::uint64_t chunk = end - first;
        if (auto fault = runner->run(first, end, grid.stop)) return grid.note(std::move(*fault));
        if (grid.launch.tick) grid.launch.tick();
        if (runner->is_outdated()) renew(runner, grid.launch);
        const auto now = Clock::now();
        const auto took = now - begin;
        begin = now;
        if (took < turn / 2)
            most = 2 * chunk;
        else if (took > 2 * turn)
            most = std::max<std::uint64_t>(1, chunk / 2);
    }
}

// Runs all clusters concurrently, for a cooperative grid.
void Scheduler::run_resident(Grid& grid) {
    grid.cooperative = std::make_shared<CooperativeGrid>(grid);
    const bool shared = threads_ > 1 && grid.clusters > 1 && !grid.pauses;
    if (shared) publish(grid);
    grid.cooperative->work();
    if (shared) wait_for_helpers(grid);
}

// Runs clusters one after another on each worker.
void Scheduler::run_in_turn(Grid& grid) {
    grid.launch.cancel = [&grid] { return grid.queue.cancel(); };
    auto runner = ClusterRunner::make(grid.launch);
    const auto workers = static_cast<unsigned>(threads_);
    if (threads_ == 1 || grid.clusters == 1 || grid.pauses) {
        grid.queue.fill_in_order(0, grid.clusters, workers);
        return work(grid, runner, 0);
    }
    // The time of the first cluster estimates the time of each other cluster. Before the first
    // cluster has run, the kernel's last launch gives the estimate.
    std::atomic<float>& seconds = grid.launch.kernel->seconds_per_cluster;
    const auto others_pay = [&] {
        return seconds.load(std::memory_order_relaxed) * static_cast<float>(grid.clusters - 1) >
               std::chrono::duration<float>(worth_waking).count();
    };
    const auto share = [&] {
        // A block with a loop may wait for the blocks before it, so these must start first.
        if (!grid.launch.kernel->has_loops()) grid.queue.fill_ranges(grid.clusters, workers);
        publish(grid);
    };
    grid.queue.fill_in_order(1, grid.clusters, workers);
    bool shared = others_pay();
    if (shared) share();
    const auto begin = Clock::now();
    if (auto fault = runner->run(0, 1, grid.stop)) grid.note(std::move(*fault));
    seconds.store(std::chrono::duration<float>(Clock::now() - begin).count());
    if (!shared && !grid.stop.load() && others_pay()) {
        shared = true;
        share();
    }
    work(grid, runner, 0);
    if (shared) wait_for_helpers(grid);
}

void Scheduler::run(Grid& grid) {
    const Dim3 &all = grid.launch.grid, &each = grid.launch.cluster;
    grid.clusters = std::uint64_t{all.x / each.x} * (all.y / each.y) * (all.z / each.z);
    grid.launch.stop = &grid.stop;
    if (grid.launch.cooperative) {
        const auto at = reinterpret_cast<std::uintptr_t>(grid.workspace);
        grid.launch.workspace = {at, at + sizeof grid.workspace, true};
    }
    attach_observers(grid);
    // The time limit does not count the wait for the front end of a debugger.
    const bool limited = timeout_ > 0 && !grid.pauses;
    if (!limited) grid.deadline = Clock::time_point::max();
    bool unwatched = false;
    Active::iterator self;
    {
        std::unique_lock lock(mutex_);
        if (stopping_) {
            lock.unlock();
            park_thread();
        }
        if (limited) {
            grid.deadline =
                Clock::now() + std::chrono::nanoseconds(static_cast<std::int64_t>(timeout_ * 1e9));
            if (!watched_) watched_ = start_thread(&Scheduler::watch_main, this);
            unwatched = !watched_;
        }
        self = running_.insert(running_.end(), &grid);
    }
    // Closing a context stops its running grids; a grid that starts now must see it too.
    if (!grid.context_alive->load(std::memory_order_acquire)) grid.stop.store(true);
    // Without the watching thread, CUPOLA_CPU_TIMEOUT would have no effect.
    if (unwatched)
        grid.note({Fault::Kind::out_of_memory,
                   "the thread that enforces CUPOLA_CPU_TIMEOUT cannot be started"});
    try {
        MemoryMap::Pin pin(memory_);
        if (grid.launch.order)
            run_seeded(grid);
        else if (grid.launch.cooperative)
            run_resident(grid);
        else
            run_in_turn(grid);
    } catch (const std::bad_alloc&) {
        grid.note(no_memory());
        wait_for_helpers(grid);
    }
    grid.launch.observers.clear();
    std::lock_guard lock(mutex_);
    running_.erase(self);
    if (stopping_) left_.notify_all();
}

void Scheduler::publish(Grid& grid) {
    std::lock_guard lock(mutex_);
    const auto before = std::find_if(shared_.begin(), shared_.end(), [&](const Grid* other) {
        return other->priority > grid.priority;  // a lower number is a higher priority
    });
    shared_.insert(before, &grid);
    offers_.store(static_cast<int>(shared_.size()));
    const auto wanted = static_cast<int>(
        std::min<std::uint64_t>(static_cast<unsigned>(threads_ - 1), grid.clusters - 1));
    // If no thread can be started, the existing threads do all work.
    while (helpers_ < wanted && start_thread(&Scheduler::helper_main, this)) ++helpers_;
    if (asleep_ > 0) {
        if (wanted >= asleep_) {
            work_.notify_all();
        } else {
            for (int i = 0; i < wanted; ++i) work_.notify_one();
        }
    }
}

void Scheduler::wait_for_helpers(Grid& grid) {
    {
        std::lock_guard lock(mutex_);
        shared_.remove(&grid);
        offers_.store(static_cast<int>(shared_.size()));
    }
    if (!spin([&] { return grid.helpers.load() == 0; }, helper_linger)) {
        std::unique_lock lock(mutex_);
        while (grid.helpers.load() != 0) left_.wait(lock);
    }
    // The last helper may still hold the lock under which it decremented the count.
    std::lock_guard lock(mutex_);
}

void Scheduler::help(Grid& grid, unsigned worker) {
    if (grid.cooperative) return grid.cooperative->work();
    std::unique_ptr<ClusterRunner> runner;
    try {
        runner = ClusterRunner::make(grid.launch);
    } catch (const std::bad_alloc&) {
        return;  // the grid's own thread works without this helper
    }
    try {
        work(grid, runner, worker);
    } catch (const std::bad_alloc&) {
        grid.note(no_memory());
    }
}

void* Scheduler::helper_main(void* scheduler) {
    static_cast<Scheduler*>(scheduler)->helper_loop();
    return nullptr;
}

void Scheduler::helper_loop() {
    std::unique_lock lock(mutex_);
    // Worker 0 is the thread that the grid was given to.
    const unsigned worker = ++numbered_;
    for (;;) {
        Grid* grid = nullptr;
        if (stopping_) {
            lock.unlock();
            park_thread();
        }
        for (Grid* each : shared_) {
            if (!wants_help(*each)) continue;
            grid = each;
            break;
        }
        if (!grid) {
            lock.unlock();
            const bool more =
                offers_.load() == 0 && spin([this] { return offers_.load() > 0; }, helper_linger);
            lock.lock();
            if (more) continue;
            const bool offered = std::any_of(shared_.begin(), shared_.end(),
                                             [](const Grid* each) { return wants_help(*each); });
            if (offered) continue;
            ++asleep_;
            work_.wait(lock);
            --asleep_;
            continue;
        }
        grid->helpers.fetch_add(1);
        lock.unlock();
        help(*grid, worker);
        lock.lock();
        grid->helpers.fetch_sub(1);
        left_.notify_all();
    }
}

void* Scheduler::watch_main(void* scheduler) {
    static_cast<Scheduler*>(scheduler)->watch_loop();
    return nullptr;
}

void Scheduler::watch_loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
        const auto now = Clock::now();
        // New grids do not wake this thread, so it checks several times within a time limit.
        auto soonest = now + std::chrono::nanoseconds(static_cast<std::int64_t>(
                                 std::clamp(timeout_ / 8, 1e-3, 0.1) * 1e9));
        for (Grid* grid : running_) {
            if (grid->stop.load()) continue;
            if (grid->deadline <= now) {
                grid->timed_out.store(true);
                grid->stop.store(true);
            } else {
                soonest = std::min(soonest, grid->deadline);
            }
        }
        left_.wait_for(lock, soonest - now);
    }
}

void Scheduler::stop(const Context& context) {
    std::lock_guard lock(mutex_);
    for (Grid* grid : running_)
        if (grid->context == &context) grid->stop.store(true);
}

// Waits until no block runs, because static objects of the interpreter will be destroyed. The wait
// is limited, because the process must end.
void Scheduler::stop() {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    for (Grid* grid : running_) grid->stop.store(true);
    const auto until = Clock::now() + std::chrono::seconds(2);
    while (!running_.empty() && Clock::now() < until)
        left_.wait_for(lock, std::chrono::milliseconds(50));
}

}  // namespace cupola::cpu
