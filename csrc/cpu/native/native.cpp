// csrc/cpu/native/native.cpp - from decoded kernels to machine code that launches take.
#include "cpu/native/native.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <new>

#include "cpu/exec/kernel.hpp"
#include "cpu/exec/meet.hpp"
#include "cpu/executor.hpp"
#include "cpu/native/ahead.hpp"
#include "cpu/native/cache.hpp"
#include "cpu/native/compiler.hpp"
#include "cpu/native/print.hpp"
#include "cpu/native/process.hpp"
#include "cpu/native/semantics.hpp"
#include "cpu/native/sha256.hpp"

namespace cupola::cpu::native {

using namespace exec;

namespace {

using State = NativeSlot::State;

// What a kernel is interpreted for before it is worth a second of a compiler.
constexpr std::uint64_t worth_compiling = 20'000'000;  // nanoseconds

const Code* stay(const Code* ip, Warp&, std::byte*) { return ip; }

// All but the machine code itself.
std::unique_ptr<Native> frame_of(const Program& program) {
    auto native = std::make_unique<Native>();
    native->code = program.kernel.code;
    native->entry.assign(native->code.size(), 0);
    for (Code& code : native->code) {
        native->handlers.push_back(code.run);
        code.run = &stay;
    }
    for (const std::uint32_t at : program.entries()) native->entry[at] = 1;
    native->sweeps = !program.sweep.empty();
    native->services = {
        native->code.data(), native->handlers.data(), native->entry.data(), &halt, &arrive, &expire,
        &set_mask,           &release_if_complete_of};
    return native;
}

// Launches take it from now on.
void publish(NativeSlot& slot, std::unique_ptr<Native> made) {
    slot.made = std::move(made);
    slot.ready.store(slot.made.get(), std::memory_order_release);
    slot.state.store(State::ready, std::memory_order_release);
}

// Kernels that are compiled as one source. What it needs of them is copied: they may be gone.
struct Job {
    Source source;
    std::vector<std::shared_ptr<NativeSlot>> slots;
    std::vector<std::unique_ptr<Native>> frames;
};

void fail(NativeSlot& slot, const std::string& why) noexcept {
    try {
        slot.failure = why;
    } catch (const std::bad_alloc&) {
        slot.failure = "no memory";  // so short that it takes none
    }
    slot.state.store(State::failed, std::memory_order_release);
}

// Whatever happens, nobody waits for what nobody makes.
void give_up(const Job& job, const char* why) noexcept {
    for (const auto& slot : job.slots)
        if (slot->state.load() == State::making) fail(*slot, why);
}

// Those that nobody has begun with so far.
Job job_of(const std::vector<const Kernel*>& kernels) {
    Job job;
    job.slots.reserve(kernels.size());
    job.frames.reserve(kernels.size());
    for (const Kernel* kernel : kernels) {
        const auto& code = static_cast<const KernelCode&>(*kernel);
        State none = State::none;
        if (!code.native->state.compare_exchange_strong(none, State::making)) continue;
        try {
            const Program program(code);
            auto frame = frame_of(program);
            job.source.add(source_of(program, job.slots.size()));
            job.slots.push_back(code.native);
            job.frames.push_back(std::move(frame));
        } catch (const Unprintable& no) {
            fail(*code.native, "not printed: " + no.why);
        } catch (const std::exception& no) {
            fail(*code.native, std::string("not printed: ") + no.what());
        }
    }
    return job;
}

std::atomic<std::size_t> processors{1};
std::atomic<const Cache*> opened{nullptr};

const Cache& cache() {
    static const auto* kept = new Cache;
    opened.store(kept);
    return *kept;
}

bool write_file(const std::string& path, std::string_view first, std::string_view second) {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) return false;
    int error = 0;
    for (std::string_view text : {first, second})
        while (error == 0 && !text.empty()) {
            const ssize_t wrote = write(file, text.data(), text.size());
            if (wrote > 0)
                text.remove_prefix(static_cast<std::size_t>(wrote));
            else
                error = errno;
        }
    if (close(file) != 0 && error == 0) error = errno;
    if (error != 0) unlink(path.c_str());
    errno = error;
    return error == 0;
}

void* library_of(const Job& job, bool slowly, std::string& why) {
    if (getauxval(AT_SECURE) != 0) {
        why = "a program with more rights than its user's runs no compiler of the user's choice";
        return nullptr;
    }
    // Never destroyed: the background goes on while the process ends.
    static const auto& compiler = *new Compiler(Compiler::find());
    std::string about;
    const std::string level = own_level();
    for (const auto& flag : flags(level)) about += flag + " ";
    // Without a compiler what one has made before would do, but whose it is cannot be told.
    if (!compiler.there()) {
        why = compiler.missing;
        return nullptr;
    }
    const std::string semantics_hash = sha256(semantics());
    const std::string key =
        sha256(compiler.identity + "\n" + about + "\n" + semantics_hash + "\n" + job.source.text());
    if (void* library = cache().load(key)) return library;
    const std::size_t files = job.source.files(processors.load());
    static std::atomic<unsigned> made{0};
    std::string source, library;
    bool written;
    do {  // a process with this number may have left its files, or run in another container
        const std::string stem =
            cache().folder() + "/" + std::to_string(getpid()) + "." + std::to_string(made++);
        source = stem + ".cpp";
        library = stem + ".made";
        written = write_file(source, semantics(), job.source.text(files));
    } while (!written && errno == EEXIST);
    if (!written) {
        why = std::string("a source can't be written to ") + cache().folder() + ": " +
              std::strerror(errno);
        return nullptr;
    }
    unlink(library.c_str());
    const bool done = compile(compiler, level, files, source, library, slowly, why);
    void* loaded = nullptr;
    if (done && cache().keep(key, library)) {
        loaded = cache().load(key);
        if (!loaded) why = "the compiled library cannot be loaded";
        cache().bound();
    } else if (done) {
        why = "the compiled library cannot be stored in the cache";
    }
    unlink(library.c_str());
    unlink(source.c_str());  // last: the other name is this one's until then
    return loaded;
}

void finish(Job& job, bool slowly) try {
    if (job.slots.empty()) return;
    std::string why;
    void* library = library_of(job, slowly, why);
    for (std::size_t n = 0; n < job.slots.size(); ++n) {
        NativeSlot& slot = *job.slots[n];
        void* run = library ? dlsym(library, name_of_kernel(n).c_str()) : nullptr;
        if (!run) {
            fail(slot, why);
            continue;
        }
        job.frames[n]->run = reinterpret_cast<NativeRun>(run);
        publish(slot, std::move(job.frames[n]));
    }
} catch (const std::exception& error) {
    give_up(job, error.what());
}

// The background: one thread, which sleeps where there is nothing to do.
struct Background {
    std::mutex mutex;
    std::condition_variable work;
    std::deque<Job> jobs;
    bool started = false;
    std::atomic<bool> stopping{false};
};
Background& background() {
    static auto* one = new Background;
    return *one;
}

void* compile_jobs(void*) {
    Background& b = background();
    for (;;) {
        std::unique_lock lock(b.mutex);
        b.work.wait(lock, [&] { return !b.jobs.empty(); });
        Job job = std::move(b.jobs.front());
        b.jobs.pop_front();
        lock.unlock();
        if (b.stopping.load()) Executors::park();
        finish(job, true);
    }
}

}  // namespace

void use_processors(int count) { processors.store(static_cast<std::size_t>(count)); }

void make_now(const std::vector<const Kernel*>& kernels) {
    Job job = job_of(kernels);
    finish(job, false);
    // Somebody else may be at it.
    for (const Kernel* kernel : kernels)
        while (static_cast<const KernelCode*>(kernel)->native->state.load() == State::making)
            usleep(1000);
}

void take_ahead(const Kernel& kernel) {
    const auto& code = static_cast<const KernelCode&>(kernel);
    NativeSlot& slot = *code.native;
    State none = State::none;
    if (!is_ahead(code.name()) || !slot.state.compare_exchange_strong(none, State::making)) return;
    try {
        const Program program(code);
        if (const NativeRun run = find_ahead(code.name(), source_of(program, 0).text())) {
            auto frame = frame_of(program);
            frame->run = run;
            publish(slot, std::move(frame));
            return;
        }
    } catch (const Unprintable&) {  // as kernels are that nobody made ahead
    } catch (const std::exception&) {
    }
    slot.state.store(State::none);
}

void took(const Kernel& kernel, std::uint64_t nanoseconds) {
    const auto& code = static_cast<const KernelCode&>(kernel);
    NativeSlot& slot = *code.native;
    if (slot.state.load(std::memory_order_relaxed) != State::none) return;
    const std::uint64_t before = slot.nanoseconds.fetch_add(nanoseconds);
    if (before + nanoseconds < worth_compiling || background().stopping.load()) return;
    // The thread of a stream is here, which has no caller that could be told of an error.
    Job job;
    try {
        job = job_of({&kernel});
        if (job.slots.empty()) return;
        Background& b = background();
        std::lock_guard lock(b.mutex);
        if (!b.started && !start_thread(&compile_jobs, nullptr)) throw std::bad_alloc();
        b.started = true;
        b.jobs.push_back(std::move(job));
        b.work.notify_one();
    } catch (...) {
        give_up(job, "no thread or memory is available to compile it");
    }
}

std::string state_of(const Kernel& kernel) {
    const NativeSlot& slot = *static_cast<const KernelCode&>(kernel).native;
    switch (slot.state.load(std::memory_order_acquire)) {
        case State::ready:
            return compiled;
        case State::failed:
            return slot.failure;
        case State::none:
        case State::making:
            break;
    }
    return "interpreted";
}

std::string printed(const Kernel& kernel) {
    try {
        const Program program(static_cast<const KernelCode&>(kernel));
        return source_of(program, 0).text();
    } catch (const Unprintable& no) {
        return "// not printed: " + no.why + "\n";
    }
}

void stop() {
    background().stopping.store(true);
    stop_processes();
    if (const Cache* kept = opened.load()) kept->clear();
}

}  // namespace cupola::cpu::native
