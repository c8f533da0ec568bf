// csrc/runtime/driver/driver.cpp - loads the driver once and guards calls after exit and fork.
#include "runtime/driver/driver.hpp"

#include <pthread.h>

#include <cstdlib>
#include <memory>
#include <mutex>

#include "platform/environment.hpp"
#include "runtime/base/thread_pool.hpp"
#include "runtime/driver/choice.hpp"

namespace cupola {

std::atomic<const Driver*> alive{nullptr};

namespace {

// Never destroyed: objects may be released while the process exits.
struct State {
    std::mutex mutex;
    std::unique_ptr<Driver> driver;
    std::string choice, report;
    std::atomic<bool> begun{false};  // a driver is loaded or being loaded
    std::atomic<bool> forked{false}, exiting{false};
};

State& state() {
    static State* const state = new State;
    return *state;
}

void watch_exit() {
    // Registered after the driver's own handlers, so it runs before them.
    std::atexit([] {
        state().exiting = true;
        alive = nullptr;
    });
}

void watch_fork() {
    static const int once = pthread_atfork(nullptr, nullptr, [] {
        state().forked = state().begun.load();
        alive = nullptr;
    });
    (void)once;
}

// Call before taking the mutex: in a forked child, a thread that no longer exists may hold it.
void refuse_child() {
    if (state().forked)
        fail(CUPOLA_ERROR_FORKED,
             "the CUDA driver does not survive fork(): this process was forked after cupola had "
             "used the driver; start workers by multiprocessing's 'spawn' or 'forkserver', or use "
             "cupola in the child alone");
}

std::unique_ptr<Driver> choose(State& state) {
    if (!state.choice.empty())
        return choose_driver(state.choice, "the program chose it", state.report);
    const char* variable = std::getenv("CUPOLA_DRIVER");
    if (variable && *variable)
        return choose_driver(variable, "CUPOLA_DRIVER is set to it", state.report);
    return choose_driver("auto", "CUPOLA_DRIVER is not set", state.report);
}

bool switched_on(const char* name) {
    const char* variable = std::getenv(name);
    const std::string value = variable ? variable : "";
    if (value.empty() || value == "0") return false;
    if (value == "1") return true;
    fail(CUPOLA_ERROR_VALUE, std::string(name) + " is \"" + value + "\"; expected 0 or 1");
}

StagingSettings staging_settings() {
    StagingSettings settings;
    std::string error;
    if (!environment::read_bytes("CUPOLA_STAGING_BYTES", settings.bytes, error) ||
        !environment::read_whole("CUPOLA_STAGING_THREADS", 1, max_pool_threads, settings.threads,
                                 error))
        fail(CUPOLA_ERROR_VALUE, error);
    return settings;
}

}  // namespace

const Driver& load_driver() {
    State& s = state();
    refuse_child();
    if (s.exiting) fail(CUPOLA_ERROR_NO_DRIVER, "the process is exiting: the driver is shut down");
    std::lock_guard<std::mutex> lock(s.mutex);
    if (!s.driver) {
        watch_fork();
        s.begun = true;
        try {
            const Log level = log_level();
            const bool synchronous = switched_on("CUPOLA_SYNC");
            const StagingSettings staging = staging_settings();
            s.driver = choose(s);
            s.driver->staging = staging;
            s.driver->log = level;
            s.driver->synchronous = synchronous;
            s.driver->instrumented =
                (level >= Log::debug ? Driver::logged : 0) | (synchronous ? Driver::waited_for : 0);
            if (level >= Log::info) log("driver " + s.driver->path + ": " + s.driver->reason);
        } catch (...) {
            s.begun = false;
            throw;
        }
        watch_exit();
        alive = s.driver.get();
    }
    return *s.driver;
}

const char* last_fault() noexcept {
    const Driver* driver = driver_alive();
    return driver && driver->fault ? driver->fault() : nullptr;
}

const char* last_refusal() noexcept {
    const Driver* driver = driver_alive();
    return driver && driver->refusal ? driver->refusal() : nullptr;
}

void select_driver(const std::string& choice) {
    State& s = state();
    refuse_child();
    std::lock_guard<std::mutex> lock(s.mutex);
    if (s.driver) fail(CUPOLA_ERROR_VALUE, "a driver is loaded already: " + s.driver->path);
    s.choice = choice;
}

std::string driver_report() {
    State& s = state();
    if (s.forked) return "";
    std::lock_guard<std::mutex> lock(s.mutex);
    return s.report;
}

}  // namespace cupola
