// csrc/cpu/compiler/machine_code.cpp - decides when kernels are compiled, and loads their code.
#include "cpu/compiler/machine_code.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <utility>

#include "cpu/analysis/pipeline.hpp"
#include "cpu/compiler/aot.hpp"
#include "cpu/compiler/compile_queue.hpp"
#include "cpu/compiler/job.hpp"
#include "cpu/compiler/process.hpp"
#include "cpu/compiler/toolchain.hpp"

namespace cupola::cpu::compiler {

using namespace interpreter;

namespace {

using State = MachineCodeSlot::State;

// A kernel is compiled after this time of interpretation, in nanoseconds. Each compilation of this
// process raises the limit by as much, so a program of thousands of short kernels starts few
// compilers.
constexpr std::uint64_t min_interpreted_ns = 2'000'000;
std::atomic<std::uint64_t> compilations{0};
// Kernels with at most this number of operations are emitted within about a millisecond.
constexpr std::size_t max_foreground_ops = 1000;

void* build_library(const Job& job, std::string& why) {
    why = objection_to_compiling();
    if (why.empty() && !compiler().found()) why = compiler().missing;
    if (!why.empty()) return nullptr;
    const std::string key = key_of(job, identity());
    if (void* library = cache().load(key)) return library;
    Sources sources;
    std::string stem;
    if (!write_source(job, sources, stem, why)) return nullptr;
    const std::string library = stem + ".made";
    const bool done = compile(compiler(), sources, library, why);
    void* loaded = nullptr;
    if (done && cache().store(key, library)) {
        loaded = cache().load(key);
        if (!loaded) why = "the compiled library cannot be loaded";
        cache().evict();
    } else if (done) {
        why = "the compiled library cannot be stored in the cache";
    }
    unlink(library.c_str());
    // Removed last: this file reserves the name of the other file until then.
    unlink(sources.file.c_str());
    return loaded;
}

}  // namespace

void set_processor_count(int count) { set_processors(static_cast<std::size_t>(count)); }

bool compile_before_launch(const std::vector<const Kernel*>& kernels, Mode mode) {
    if (mode != Mode::compile && mode != Mode::quick) return false;
    Job job(mode == Mode::quick ? Tier::quick : Tier::full);
    try {
        for (const Kernel* kernel : kernels) {
            const auto& code = static_cast<const KernelCode&>(*kernel);
            State none = State::none;
            if (code.native->state.compare_exchange_strong(none, State::making)) job.add(code);
        }
        std::string why;
        if (!job.slots.empty()) {
            void* library = build_library(job, why);
            job.install(library, why);
        }
    } catch (const std::exception& error) {
        job.fail_all(error.what());
    }
    // Another thread may be compiling some of these kernels.
    for (const Kernel* kernel : kernels)
        while (static_cast<const KernelCode*>(kernel)->native->state.load() == State::making)
            usleep(1000);
    return true;
}

// The cache of earlier processes, if that cache may have the kernel; else nullptr.
const Cache* cache_for(const KernelCode& code, std::string& identity) {
    if (!objection_to_compiling().empty()) return nullptr;
    const Cache* const there = existing_cache();
    if (!there || !there->may_contain(hint_of(code)) || !compiler().found()) return nullptr;
    identity = cached_identity(*there);
    return identity.empty() ? nullptr : there;
}

void load_compiled(const Kernel& kernel, bool cached) {
    const auto& code = static_cast<const KernelCode&>(kernel);
    MachineCodeSlot& slot = *code.native;
    State none = State::none;
    if (slot.state.load() != none) return;
    bool mine = false;
    try {
        std::string identity;
        const bool ahead = has_aot(code.name());
        const Cache* const cache = cached ? cache_for(code, identity) : nullptr;
        mine = (ahead || cache) && slot.state.compare_exchange_strong(none, State::making);
        if (!mine) return;
        if (!ahead && code.code.size() > max_foreground_ops)
            return compile_later(code.shared_from_this());
        Job job;
        job.add(code);
        if (job.slots.empty()) return;
        if (const MachineCodeRun run = ahead ? find_aot(code.name(), job.source.text()) : nullptr)
            return job.install(run);
        if (void* library = cache ? cache->load(key_of(job, identity)) : nullptr)
            return job.install(library, "");
    } catch (...) {  // the kernel is interpreted, and compiled later
    }
    if (mine) slot.state.store(State::none);
}

bool is_interpreted(const Kernel& kernel) {
    const State state = static_cast<const KernelCode&>(kernel).native->state.load();
    return state == State::none || state == State::making;
}

void record_interpreted(const Kernel& kernel, std::uint64_t nanoseconds) {
    const auto& code = static_cast<const KernelCode&>(kernel);
    MachineCodeSlot& slot = *code.native;
    State state = slot.state.load(std::memory_order_relaxed);
    if (state != State::none && state != State::making) return;
    const std::uint64_t before = slot.nanoseconds.fetch_add(nanoseconds);
    const std::uint64_t wanted =
        min_interpreted_ns * (1 + compilations.load(std::memory_order_relaxed));
    if (state != State::none || before + nanoseconds < wanted) return;
    if (!slot.state.compare_exchange_strong(state, State::making)) return;
    compilations.fetch_add(1);
    // This is the thread of a stream, so no caller can receive an error.
    try {
        compile_later(code.shared_from_this());
    } catch (...) {
        fail(slot, "no thread or memory is available to compile it");
    }
}

std::string state_of(const Kernel& kernel) {
    const MachineCodeSlot& slot = *static_cast<const KernelCode&>(kernel).native;
    switch (slot.state.load(std::memory_order_acquire)) {
        case State::ready:
            if (slot.ready.load() != slot.quick.get()) return compiled;
            return slot.failed.load(std::memory_order_acquire)
                       ? std::string(compiled_quickly) + ": " + slot.failure
                       : compiled_quickly;
        case State::failed:
            return slot.failure;
        case State::none:
        case State::making:
            break;
    }
    return "interpreted";
}

std::string emitted_source(const Kernel& kernel) {
    try {
        const KernelAnalysis analysis = analyse(static_cast<const KernelCode&>(kernel));
        return source_of(analysis, 0).text();
    } catch (const UnsupportedKernel& no) {
        return "// not compiled: " + no.why + "\n";
    }
}

namespace {

const char* name_of(Mode mode) {
    return mode == Mode::quick ? "quick" : mode == Mode::compile ? "compile" : "auto";
}

std::string compiler_line() {
    if (const std::string objection = objection_to_compiling(); !objection.empty())
        return "nothing is compiled: " + objection;
    if (!compiler().found()) return "nothing is compiled: " + compiler().missing;
    std::string words;
    for (const auto& word : compiler().command) words += (words.empty() ? "" : " ") + word;
    const std::string version = compiler().version();
    return "compiler " + words + " (" + version.substr(0, version.find('\n')) + ")";
}

std::string cache_line() try {
    const Cache& used = cache();
    const Cache::Content content = used.content();
    char size[32];
    std::snprintf(size, sizeof size, "%.1f MiB",
                  static_cast<double>(content.bytes) / (std::uint64_t{1} << 20));
    return used.folder() + ", libraries: " + std::to_string(content.libraries) + ", " + size +
           (used.is_process_local() ? ", removed when the process ends" : "");
} catch (const std::exception& error) {
    return error.what();
}

}  // namespace

std::string description(Mode mode) {
    switch (mode) {
        case Mode::interpret:
            return "machine code: interpret, none is used";
        case Mode::ahead:
            return "machine code: ahead, only what packages were built with";
        case Mode::quick:
        case Mode::compile:
        case Mode::automatic:
            break;
    }
    return std::string("machine code: ") + name_of(mode) + ", " + compiler_line() +
           "\nmachine code is kept in: " + cache_line();
}

void stop() {
    stop_processes();
    stop_compiling();
}

}  // namespace cupola::cpu::compiler
