// csrc/runtime/driver/driver.hpp - the process's loaded drivers, and errors of their calls.
//
// The main driver is the one that CUPOLA_DRIVER chooses. The CPU driver is cupola's CPU device,
// which can be used beside another main driver. It may be the main driver itself.
#pragma once

#include <atomic>
#include <string>

#include "runtime/base/error.hpp"
#include "runtime/driver/table.hpp"

namespace cupola {

// Set while the driver may be called: from its initialization until the process exits or forks.
extern std::atomic<const Driver*> main_alive, cpu_alive;

// Load and initialize the driver at the first call. Throw where the driver is not usable.
const Driver& load_main_driver();
const Driver& load_cpu_driver();
// Sets "auto", "cuda", "cpu" or a path for the main driver, which overrides CUPOLA_DRIVER. Throws
// where the main driver is already loaded.
void select_driver(const std::string& choice);
// Whether CUPOLA_CPU_TENSORS lets operations compute with host memory on the CPU device, also
// beside another main driver. Read at the first call.
bool cpu_tensors_wanted();
// A line for each place that was searched for a driver; empty in a forked child.
std::string driver_report();
// The main driver as it was chosen: its path, reason and notice. Loads the driver.
const Driver& main_choice();

inline const Driver& main_driver() {
    const Driver* driver = main_alive.load(std::memory_order_acquire);
    return __builtin_expect(driver != nullptr, 1) ? *driver : load_main_driver();
}
inline const Driver& cpu_driver() {
    const Driver* driver = cpu_alive.load(std::memory_order_acquire);
    return __builtin_expect(driver != nullptr, 1) ? *driver : load_cpu_driver();
}
// Null where the driver is not loaded, or must no longer be called.
inline const Driver* main_driver_alive() noexcept {
    return main_alive.load(std::memory_order_acquire);
}
inline const Driver* cpu_driver_alive() noexcept {
    return cpu_alive.load(std::memory_order_acquire);
}

// Whether no driver may be called any more: the process exits, or is the child of one that had
// loaded a driver.
bool drivers_ended() noexcept;
// Throws in such a process. Call it before taking a mutex: in a forked child, a thread that no
// longer exists may hold the mutex.
void require_drivers();

// Sets or clears one of Driver's reasons for the slow launch path, in all drivers of the process.
void instrument(unsigned reason, bool on) noexcept;

// The driver of an object that is never destroyed. It is null after the driver must no longer be
// called.
class DriverLink {
  public:
    explicit DriverLink(const Driver& driver) : driver_(&driver) {}
    DriverLink(const DriverLink&) = delete;
    DriverLink& operator=(const DriverLink&) = delete;

    // For destructors: null after the driver must no longer be called.
    const Driver* alive() const noexcept { return driver_.load(std::memory_order_acquire); }
    const Driver& get() const {
        const Driver* driver = alive();
        return __builtin_expect(driver != nullptr, 1) ? *driver : fail_ended();
    }
    const Driver* operator->() const { return &get(); }
    operator const Driver&() const { return get(); }

    // From now on the link ends with its driver. Call it once.
    void publish() noexcept;

  private:
    friend void end_drivers() noexcept;
    [[noreturn, gnu::cold]] static const Driver& fail_ended();

    std::atomic<const Driver*> driver_;
    DriverLink* next_ = nullptr;
};

// The CPU device's text about the last PTX of this thread that the device refused; "" or null where
// it has refused none.
const char* last_refusal(const Driver& driver) noexcept;

// Lists a driver's launches that were not waited for. Flight, which is above the driver, sets it.
extern std::atomic<std::string (*)(const Driver&)> report_launches;

// Throws the Error for a driver call's code. `call` is the function's name; `what` is added to the
// text. Without a driver the code has no name.
[[noreturn, gnu::cold]] void fail_driver(const Driver* driver, CUresult code, const char* call,
                                         const std::string& what = {});
[[noreturn, gnu::cold]] inline void fail_driver(const Driver& driver, CUresult code,
                                                const char* call, const std::string& what = {}) {
    fail_driver(&driver, code, call, what);
}

inline void check(const Driver& driver, CUresult code, const char* call) {
    if (__builtin_expect(code != CUDA_SUCCESS, 0)) fail_driver(driver, code, call);
}

}  // namespace cupola

// Calls a function of a Driver and throws where it fails.
#define CUPOLA_CALL(driver, name, ...)                                          \
    do {                                                                        \
        const ::cupola::Driver& cupola_called = (driver);                       \
        ::cupola::check(cupola_called, cupola_called.name(__VA_ARGS__), #name); \
    } while (false)
