// csrc/cpu/compiler/machine_code.cpp - from decoded kernels to machine code that launches take.
#include "cpu/compiler/machine_code.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <utility>

#include "cpu/compiler/aot.hpp"
#include "cpu/compiler/background.hpp"
#include "cpu/compiler/job.hpp"
#include "cpu/compiler/process.hpp"
#include "cpu/compiler/toolchain.hpp"

namespace cupola::cpu::compiler {

using namespace interpreter;

namespace {

using State = MachineCodeSlot::State;

// A kernel is compiled once it was interpreted for so many nanoseconds, and for as many more as
// this process has compiled others: a program of thousands of short kernels starts few compilers.
constexpr std::uint64_t worth_compiling = 2'000'000;
std::atomic<std::uint64_t> compilations{0};
// Operations of kernels that are printed within about a millisecond.
constexpr std::size_t max_at_once = 1000;

void* library_of(const Job& job, std::string& why) {
    why = objection_to_compiling();
    if (why.empty() && !compiler().there()) why = compiler().missing;
    if (!why.empty()) return nullptr;
    const std::string key = key_of(job, identity());
    if (void* library = cache().load(key)) return library;
    const std::size_t files = job.source.files(processors());
    std::string stem;
    if (!write_source(job, files, stem, why)) return nullptr;
    const std::string source = stem + ".cpp", library = stem + ".made";
    const bool done = compile(compiler(), own_level(), files, source, library, why);
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

}  // namespace

void use_processors(int count) { set_processors(static_cast<std::size_t>(count)); }

void make_now(const std::vector<const Kernel*>& kernels) {
    Job job;
    try {
        for (const Kernel* kernel : kernels) {
            const auto& code = static_cast<const KernelCode&>(*kernel);
            State none = State::none;
            if (code.native->state.compare_exchange_strong(none, State::making)) job.add(code);
        }
        std::string why;
        if (!job.slots.empty()) {
            void* library = library_of(job, why);
            job.deliver(library, why);
        }
    } catch (const std::exception& error) {
        job.give_up(error.what());
    }
    // Somebody else may be at it.
    for (const Kernel* kernel : kernels)
        while (static_cast<const KernelCode*>(kernel)->native->state.load() == State::making)
            usleep(1000);
}

// The cache of earlier processes, where it may have the kernel; else nullptr.
const Cache* cache_for(const KernelCode& code, std::string& identity) {
    if (!objection_to_compiling().empty()) return nullptr;
    const Cache* const there = cache_if_there();
    if (!there || !there->may_have(hint_of(code)) || !compiler().there()) return nullptr;
    identity = identity_if_kept(*there);
    return identity.empty() ? nullptr : there;
}

void take_made(const Kernel& kernel, bool cached) {
    const auto& code = static_cast<const KernelCode&>(kernel);
    MachineCodeSlot& slot = *code.native;
    State none = State::none;
    if (slot.state.load() != none) return;
    bool mine = false;
    try {
        std::string identity;
        const bool ahead = is_ahead(code.name());
        const Cache* const cache = cached ? cache_for(code, identity) : nullptr;
        mine = (ahead || cache) && slot.state.compare_exchange_strong(none, State::making);
        if (!mine) return;
        if (!ahead && code.code.size() > max_at_once) return compile_later(code.shared_from_this());
        Job job;
        job.add(code);
        if (job.slots.empty()) return;
        if (const MachineCodeRun run = ahead ? find_ahead(code.name(), job.source.text()) : nullptr)
            return job.deliver(run);
        if (void* library = cache ? cache->load(key_of(job, identity)) : nullptr)
            return job.deliver(library, "");
    } catch (...) {  // it is interpreted, and compiled once it has taken some time
    }
    if (mine) slot.state.store(State::none);
}

bool is_interpreted(const Kernel& kernel) {
    const State state = static_cast<const KernelCode&>(kernel).native->state.load();
    return state == State::none || state == State::making;
}

void took(const Kernel& kernel, std::uint64_t nanoseconds) {
    const auto& code = static_cast<const KernelCode&>(kernel);
    MachineCodeSlot& slot = *code.native;
    State state = slot.state.load(std::memory_order_relaxed);
    if (state != State::none && state != State::making) return;
    const std::uint64_t before = slot.nanoseconds.fetch_add(nanoseconds);
    const std::uint64_t wanted =
        worth_compiling * (1 + compilations.load(std::memory_order_relaxed));
    if (state != State::none || before + nanoseconds < wanted) return;
    if (!slot.state.compare_exchange_strong(state, State::making)) return;
    compilations.fetch_add(1);
    // The thread of a stream is here, which has no caller that could be told of an error.
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
        const KernelAnalysis analysis(static_cast<const KernelCode&>(kernel));
        return source_of(analysis, 0).text();
    } catch (const UnsupportedKernel& no) {
        return "// not printed: " + no.why + "\n";
    }
}

namespace {

std::string compiler_line() {
    if (const std::string objection = objection_to_compiling(); !objection.empty())
        return "nothing is compiled: " + objection;
    if (!compiler().there()) return "nothing is compiled: " + compiler().missing;
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
           (used.is_of_process() ? ", removed when the process ends" : "");
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
        case Mode::compile:
        case Mode::automatic:
            break;
    }
    return std::string("machine code: ") + (mode == Mode::compile ? "compile" : "auto") + ", " +
           compiler_line() + "\nmachine code is kept in: " + cache_line();
}

void stop() {
    stop_processes();
    stop_compiling();
}

}  // namespace cupola::cpu::compiler
