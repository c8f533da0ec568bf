// csrc/cpu/compiler/compile_queue.cpp - the queue of kernels to compile, and its threads.
#include "cpu/compiler/compile_queue.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "cpu/base/condition.hpp"
#include "cpu/base/thread.hpp"
#include "cpu/compiler/detached.hpp"
#include "cpu/compiler/job.hpp"
#include "cpu/compiler/toolchain.hpp"

namespace cupola::cpu::compiler {
namespace {

using interpreter::KernelCode;

// Limits of the number of compilers that this process runs at the same time. They leave most
// processors to kernels.
constexpr std::size_t processors_each = 4, max_compilers = 4;
constexpr std::chrono::milliseconds poll{100};

// The code of a kernel whose source is larger is made in two tiers. A compiler needs about a second
// for a source of this many bytes.
constexpr std::size_t min_tiered_bytes = 30'000;

struct KeyedJob {
    Job job;
    std::string key;
    std::unique_ptr<KeyedJob> next;  // the full tier, after the quick one
    bool is_upgrade = false;         // the kernel has the code of the quick tier
};

struct CompileQueue {
    std::mutex mutex;
    Condition work;
    std::vector<std::shared_ptr<const KernelCode>> kernels;
    std::vector<KeyedJob> locked;  // jobs that another process compiles
    std::vector<KeyedJob> full;    // full tiers of kernels that have the code of the quick tier
    std::size_t threads = 0, idle = 0, upgrading = 0;
    std::atomic<bool> stopping{false};
};
// Never destroyed: threads outlive static objects.
CompileQueue& compile_queue() {
    static auto* queue = new CompileQueue;
    return *queue;
}

std::size_t compilers_at_once() {
    return std::clamp<std::size_t>(processors() / processors_each, 1, max_compilers);
}

void checkpoint() {
    if (compile_queue().stopping.load()) park_thread();
}

void* compiled_library(const KeyedJob& keyed, Cache::Lock& lock, std::string& why) {
    const std::string& key = keyed.key;
    cache().evict();
    DetachedJob files;
    files.library = cache().pending_path(key);
    // On a machine with one processor, the compiler has the lowest priority, so that launches get
    // the processor. A kernel with code of the quick tier gains less from the compiler.
    files.niceness = processors() == 1 ? 19 : keyed.is_upgrade ? 5 : 0;
    Sources sources;
    std::string stem;
    if (!write_source(keyed.job, sources, stem, why)) return nullptr;
    files.output = stem + ".made";
    files.lock_name = lock.name();
    files.lock = lock.release();
    if (!compile_detached(compiler(), sources, files, why)) return nullptr;
    void* library = cache().load(key);
    if (!library) why = "the compiled library cannot be loaded";
    return library;
}

// Adds the quick tier before the full one, where the compiler needs long for the latter and the
// cache does not have it.
void add_quick_tier(const KernelCode& kernel, KeyedJob& keyed) {
    if (keyed.job.source.size() < min_tiered_bytes) return;
    if (void* library = cache().load(keyed.key)) {
        keyed.job.install(library, "");
        keyed.job.slots.clear();
        return;
    }
    KeyedJob quick{Job(Tier::quick), {}, {}};
    quick.job.add(kernel);
    if (quick.job.slots.empty()) return keyed.job.slots.clear();
    quick.key = key_of(quick.job, identity());
    quick.next = std::make_unique<KeyedJob>(std::move(keyed));
    keyed = std::move(quick);
}

// The full tier follows when no kernel waits for its first code.
void queue_next_tier(CompileQueue& queue, KeyedJob& keyed) {
    if (!keyed.next || keyed.job.slots[0]->ready.load() == nullptr) return;
    keyed.next->is_upgrade = true;
    std::lock_guard lock(queue.mutex);
    queue.full.push_back(std::move(*keyed.next));
}

// Returns false if another process compiles the kernels; this process then tries again later.
bool try_complete(KeyedJob& keyed) try {
    std::string why;
    void* library = cache().load(keyed.key);
    if (!library) {
        Cache::Lock lock = cache().lock(keyed.key);
        if (lock.taken()) return false;
        // Another process may have compiled the kernel by now.
        library = cache().load(keyed.key);
        if (!library) library = compiled_library(keyed, lock, why);
    }
    keyed.job.install(library, why);
    queue_next_tier(compile_queue(), keyed);
    return true;
} catch (const std::exception& error) {
    keyed.job.fail_all(error.what());
    return true;
}

// Emits the kernel's source. If `keyed` then has a slot, the job must be completed.
void prepare(const KernelCode& kernel, KeyedJob& keyed) try {
    std::string why = objection_to_compiling();
    if (why.empty() && !compiler().found()) why = compiler().missing;
    if (!why.empty()) return fail(*kernel.native, why);
    keyed.job.add(kernel);
    if (keyed.job.slots.empty()) return;
    keyed.key = key_of(keyed.job, identity());
    add_quick_tier(kernel, keyed);
} catch (const std::exception& error) {
    keyed.job.slots.clear();
    fail(*kernel.native, error.what());
}

std::shared_ptr<const KernelCode> take_most_expensive(CompileQueue& queue) {
    const auto at =
        std::max_element(queue.kernels.begin(), queue.kernels.end(), [](auto& a, auto& c) {
            return a->native->nanoseconds.load() < c->native->nanoseconds.load();
        });
    std::shared_ptr<const KernelCode> kernel = std::move(*at);
    queue.kernels.erase(at);
    return kernel;
}

void* compile_kernels(void*) {
    CompileQueue& queue = compile_queue();
    std::unique_lock lock(queue.mutex);
    const auto can_upgrade = [&queue] {
        return !queue.full.empty() && queue.upgrading < compilers_at_once();
    };
    for (;;) {
        std::vector<KeyedJob> jobs;
        bool upgrades = false;
        if (!queue.kernels.empty()) {
            auto kernel = take_most_expensive(queue);
            lock.unlock();
            checkpoint();
            jobs.emplace_back();
            prepare(*kernel, jobs[0]);
            kernel.reset();
        } else if (can_upgrade()) {
            jobs.push_back(std::move(queue.full.front()));
            queue.full.erase(queue.full.begin());
            upgrades = true;
            ++queue.upgrading;
            lock.unlock();
        } else {
            ++queue.idle;
            if (queue.locked.empty())
                queue.work.wait(lock);
            else
                queue.work.wait_for(lock, poll);
            --queue.idle;
            if (!queue.kernels.empty() || can_upgrade() || queue.locked.empty()) continue;
            jobs.swap(queue.locked);
            lock.unlock();
        }
        checkpoint();
        jobs.erase(std::remove_if(
                       jobs.begin(), jobs.end(),
                       [](KeyedJob& each) { return each.job.slots.empty() || try_complete(each); }),
                   jobs.end());
        lock.lock();
        if (upgrades) --queue.upgrading;
        for (KeyedJob& each : jobs) queue.locked.push_back(std::move(each));
    }
}

}  // namespace

void compile_later(std::shared_ptr<const KernelCode> kernel) {
    CompileQueue& queue = compile_queue();
    std::lock_guard lock(queue.mutex);
    queue.kernels.push_back(std::move(kernel));
    // A kernel's first code does not wait for the full tiers of other kernels.
    if (queue.idle == 0 && queue.threads - queue.upgrading < compilers_at_once()) {
        if (start_thread(&compile_kernels, nullptr)) {
            ++queue.threads;
        } else if (queue.threads == 0) {
            queue.kernels.pop_back();
            throw std::bad_alloc();
        }
    }
    queue.work.notify_one();
}

void stop_compiling() {
    compile_queue().stopping.store(true);
    const Cache* const used = opened_cache();
    if (!used || !used->is_process_local()) return;
    stop_detached();
    used->clear();
}

}  // namespace cupola::cpu::compiler
