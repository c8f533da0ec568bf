// csrc/runtime/driver/driver.cpp - loads each driver once and guards calls after exit and fork.
#include "runtime/driver/driver.hpp"

#include <pthread.h>

#include <cstdlib>
#include <memory>
#include <mutex>

#include "cupola/device.h"
#include "platform/environment.hpp"
#include "runtime/base/thread_pool.hpp"
#include "runtime/driver/choice.hpp"

namespace cupola {

std::atomic<const Driver*> main_alive{nullptr}, cpu_alive{nullptr};

namespace {

// Never destroyed: objects may be released while the process exits. Nor are loaded drivers.
struct State {
    std::mutex mutex;
    const Driver* main = nullptr;
    const Driver* cpu = nullptr;
    std::unique_ptr<Driver> chosen;  // the main driver as it was chosen
    std::string choice, report, cpu_report;
    unsigned instrumented = 0;       // the flags that instrument() set
    std::atomic<bool> begun{false};  // a driver is loaded or being loaded
    std::atomic<bool> forked{false}, exiting{false};
};

State& state() {
    static State* const state = new State;
    return *state;
}

// Published links, the latest first.
std::atomic<DriverLink*> links{nullptr};

}  // namespace

void end_drivers() noexcept {
    main_alive = cpu_alive = nullptr;
    for (DriverLink* link = links.load(); link; link = link->next_) link->driver_ = nullptr;
}

namespace {

void watch_exit() {
    // Registered after the driver's own handlers, so it runs before them.
    std::atexit([] {
        state().exiting = true;
        end_drivers();
    });
}

void watch_fork() {
    static const int once = pthread_atfork(nullptr, nullptr, [] {
        if (!state().begun) return;
        state().forked = true;
        end_drivers();
    });
    (void)once;
}

// The choice of the main driver, and where it was set.
struct Choice {
    std::string what;
    const char* origin;
};

Choice choice_of(const State& state) {
    if (!state.choice.empty()) return {state.choice, "the program chose it"};
    const char* variable = std::getenv("CUPOLA_DRIVER");
    if (variable && *variable) return {variable, "CUPOLA_DRIVER is set to it"};
    return {"auto", "CUPOLA_DRIVER is not set"};
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

// Loads a driver by `load`, with the environment's settings; the caller holds the mutex.
template <class Load>
std::unique_ptr<Driver> begin(State& s, Load&& load) {
    watch_fork();
    const bool first = !s.begun.exchange(true);
    try {
        const Log level = log_level();
        const bool synchronous = switched_on("CUPOLA_SYNC");
        const StagingSettings staging = staging_settings();
        std::unique_ptr<Driver> driver = load();
        driver->staging = staging;
        driver->log = level;
        driver->synchronous = synchronous;
        driver->instrumented = (level >= Log::debug ? Driver::logged : 0) |
                               (synchronous ? Driver::waited_for : 0) | s.instrumented;
        if (level >= Log::info) log("driver " + driver->path + ": " + driver->reason);
        watch_exit();
        return driver;
    } catch (...) {
        if (first) s.begun = false;
        throw;
    }
}

// Whether both tables are of the same loaded library.
bool is_same(const Driver& one, const Driver& other) {
    return one.cuLaunchKernel == other.cuLaunchKernel;
}

void load_main(State& s) {
    s.chosen = begin(s, [&] {
        const Choice choice = choice_of(s);
        return choose_driver(choice.what, choice.origin, s.report);
    });
    s.main = s.cpu && is_same(*s.chosen, *s.cpu) ? s.cpu : s.chosen.get();
    main_alive = s.main;
}

void load_cpu(State& s) {
    if (!s.main && choice_of(s).what == "cpu") load_main(s);
    auto opened = begin(s, [&] { return open_cpu_driver(s.cpu_report); });
    if (s.main && is_same(*s.main, *opened)) {
        s.cpu = s.main;
    } else {
        opened->first_ordinal = CUPOLA_CPU_DEVICE;
        s.cpu = opened.release();
    }
    cpu_alive = s.cpu;
}

State& usable_state() {
    require_drivers();
    return state();
}

}  // namespace

bool drivers_ended() noexcept { return state().forked || state().exiting; }

void require_drivers() {
    if (state().forked)
        fail(CUPOLA_ERROR_FORKED,
             "the CUDA driver does not survive fork(): this process was forked after cupola had "
             "used the driver; start workers by multiprocessing's 'spawn' or 'forkserver', or use "
             "cupola in the child alone");
    if (state().exiting)
        fail(CUPOLA_ERROR_NO_DRIVER, "the process is exiting: the driver is shut down");
}

const Driver& load_main_driver() {
    State& s = usable_state();
    std::lock_guard<std::mutex> lock(s.mutex);
    if (!s.main) load_main(s);
    return *s.main;
}

const Driver& load_cpu_driver() {
    State& s = usable_state();
    std::lock_guard<std::mutex> lock(s.mutex);
    if (!s.cpu) load_cpu(s);
    return *s.cpu;
}

const Driver& main_choice() {
    load_main_driver();
    return *state().chosen;
}

void instrument(unsigned reason, bool on) noexcept {
    State& s = state();
    if (s.forked) return;
    std::lock_guard<std::mutex> lock(s.mutex);
    const auto set = [&](auto& reasons) {
        if (on)
            reasons |= reason;
        else
            reasons &= ~reason;
    };
    set(s.instrumented);
    if (s.main) set(s.main->instrumented);
    if (s.cpu) set(s.cpu->instrumented);
}

void DriverLink::publish() noexcept {
    next_ = links.load();
    while (!links.compare_exchange_weak(next_, this)) {
    }
    if (drivers_ended()) driver_ = nullptr;
}

const Driver& DriverLink::fail_ended() {
    require_drivers();
    fail(CUPOLA_ERROR_INTERNAL, "the driver of this object has ended");
}

const char* last_refusal(const Driver& driver) noexcept {
    return driver.refusal ? driver.refusal() : nullptr;
}

void select_driver(const std::string& choice) {
    State& s = state();
    require_drivers();
    std::lock_guard<std::mutex> lock(s.mutex);
    if (s.main) fail(CUPOLA_ERROR_VALUE, "a driver is loaded already: " + s.chosen->path);
    s.choice = choice;
}

bool cpu_tensors_wanted() {
    static const bool wanted = switched_on("CUPOLA_CPU_TENSORS");
    return wanted;
}

std::string driver_report() {
    State& s = state();
    if (s.forked) return "";
    std::lock_guard<std::mutex> lock(s.mutex);
    return s.report + s.cpu_report;
}

}  // namespace cupola
