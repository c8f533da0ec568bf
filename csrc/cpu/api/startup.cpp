// csrc/cpu/api/startup.cpp - starts the driver, and handles process exit, dlclose and fork.
#include "cpu/api/startup.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "cpu/base/seeded_order.hpp"
#include "cpu/compiler/machine_code.hpp"
#include "cpu/coverage/counts.hpp"
#include "cpu/debugger/session.hpp"
#include "cpu/device/base/driver_state.hpp"
#include "cpu/device/base/load_error.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/lifecycle/primary_context.hpp"
#include "cpu/device/stream/pool.hpp"
#include "cpu/interpreter/levels.hpp"
#include "cpu/sanitizer/findings.hpp"
#include "cpu/sanitizer/sanitizer.hpp"
#include "cpu/sanitizer/write_watch.hpp"
#include "cpu/traffic/traffic.hpp"
#include "platform/environment.hpp"

namespace cupola::cpu {
namespace {

std::atomic<bool> in_forked_child{false};

// Worker threads run this library's code until the process ends, so the library must stay mapped
// after the program's last dlclose. A constructor does this when the library is loaded.
// libcuda.so.1 is a filter library: in glibc 2.35 and newer, the unwinder does not know a library
// that a filter has loaded until the program opens that library itself.
[[gnu::constructor]] void stay_loaded() {
    Dl_info info;
    if (dladdr(reinterpret_cast<const void*>(&stay_loaded), &info) && info.dli_fname)
        dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

void start(Device& device) {
    auto primary = std::make_shared<PrimaryContext>(device);
    PoolPlace place;
    place.location.id = device.ordinal();
    device.start(std::move(primary), Pool::make(device.driver(), place, 0, true));
}

// The debugger comes first: it chooses the operation that the other observers see.
void connect_observers() {
    observe::connect(debugger::observer());
    observe::connect(sanitizer::observer());
    observe::connect(sanitizer::write_watch());
    observe::connect(traffic::observer());
    observe::connect(coverage::observer());
}

// cuInit's result for an invalid setting. The message goes to standard error, and the runtime reads
// it by cupola_cpu_last_refusal.
CUresult refuse(std::string error) {
    std::fprintf(stderr, "cupola: %s\n", error.c_str());
    store_load_error(std::move(error));
    return CUDA_ERROR_INVALID_VALUE;
}

// Work in flight is dropped, as at the exit of a process with a GPU. Threads are not joined: a host
// function may wait for a lock that the exiting thread holds.
void shutdown() {
    if (in_forked_child.load()) return;
    if (!DriverState::end()) return;
    compiler::stop();
    Driver::get().executors.stop();
    Driver::get().scheduler.stop();
    sanitizer::summarise();
    if (std::string error; !coverage::write(error))
        std::fprintf(stderr, "cupola: %s\n", error.c_str());
}

}  // namespace

bool read_settings(Settings& settings, std::string& error) {
    if (!Settings::read(settings, error)) return false;
    if (interpreter::levels().empty()) {
        error =
            "the CPU device needs a processor of level x86-64-v2 (SSE4.2 and POPCNT), and this "
            "processor lacks some of its instructions; use another machine, or a GPU with "
            "CUPOLA_DRIVER=cuda";
        return false;
    }
    if (settings.level.empty() || interpreter::use_level(settings.level)) return true;
    std::string known =
        "a level of the instruction set that this build has and the processor runs:";
    for (const char* level : interpreter::levels()) known.append(" ").append(level);
    error = environment::refusal("CUPOLA_CPU_LEVEL", settings.level, known);
    return false;
}

CUresult initialize(unsigned flags) {
    static std::mutex* mutex = new std::mutex;
    if (in_forked_child.load()) return CUDA_ERROR_NOT_INITIALIZED;
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard lock(*mutex);
    if (DriverState::get() != CUDA_ERROR_NOT_INITIALIZED) return DriverState::get();
    Settings settings;
    std::string error;
    if (!read_settings(settings, error)) return refuse(std::move(error));
    if (!settings.debugger.empty() && !debugger::Session::connect(settings.debugger, error))
        return refuse(std::move(error));
    if (!settings.coverage.empty() && !coverage::start(settings.coverage, error))
        return refuse(std::move(error));
    connect_observers();
    coverage::switch_context(environment::text_of("CUPOLA_CPU_COVERAGE_CONTEXT"));
    // Machine code is ignored.
    if (settings.checks.any()) settings.mode = Mode::interpret;
    if (settings.seed) SeededOrder::set_seed(*settings.seed);
    compiler::set_processor_count(settings.threads);
    auto* driver = new Driver(settings);
    Driver::set(*driver);
    for (auto& device : driver->devices) start(*device);
    // A forked child has neither the threads nor valid locks, so only the flag may change.
    pthread_atfork(nullptr, nullptr, [] {
        in_forked_child.store(true);
        DriverState::set(CUDA_ERROR_NOT_INITIALIZED);
    });
    std::atexit(&shutdown);
    DriverState::set(CUDA_SUCCESS);
    return CUDA_SUCCESS;
}

}  // namespace cupola::cpu
