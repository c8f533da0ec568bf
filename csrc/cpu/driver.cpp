// csrc/cpu/driver.cpp - starts the driver, and handles process exit, dlclose and fork.
#include "cpu/driver.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "cpu/context.hpp"
#include "cpu/pool.hpp"
#include "cpu/watch/findings.hpp"

namespace cupola::cpu {

std::atomic<Driver*> Driver::instance{nullptr};

namespace {

std::atomic<bool> in_forked_child{false};

// Worker threads run this library's code until the process ends, so it must stay mapped after the
// program's last dlclose.
void stay_loaded() {
    Dl_info info;
    if (dladdr(reinterpret_cast<const void*>(&stay_loaded), &info) && info.dli_fname)
        dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

}  // namespace

Driver::Driver(const Settings& read)
    : settings(read),
      host_memory(read.memory),
      scheduler(read.checks.watching() ? 1 : read.threads, read.timeout, memory),
      executors(read.threads) {
    for (int ordinal = 0; ordinal < settings.devices; ++ordinal)
        devices.push_back(std::make_unique<Device>(ordinal, settings));
}

CUresult Driver::initialize(unsigned flags) {
    static std::mutex* mutex = new std::mutex;
    if (in_forked_child.load()) return CUDA_ERROR_NOT_INITIALIZED;
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    std::lock_guard lock(*mutex);
    if (DriverState::get() != CUDA_ERROR_NOT_INITIALIZED) return DriverState::get();
    Settings settings;
    std::string error;
    if (!Settings::read(settings, error)) {
        std::fprintf(stderr, "cupola: %s\n", error.c_str());
        return CUDA_ERROR_INVALID_VALUE;
    }
    // Machine code is ignored.
    if (settings.checks.any()) settings.mode = native::Mode::interpret;
    native::use_processors(settings.threads);
    stay_loaded();
    auto* driver = new Driver(settings);
    instance.store(driver, std::memory_order_release);
    for (auto& device : driver->devices) device->start();
    // A forked child has neither the threads nor valid locks, so only the flag may change.
    pthread_atfork(nullptr, nullptr, [] {
        in_forked_child.store(true);
        DriverState::set(CUDA_ERROR_NOT_INITIALIZED);
    });
    std::atexit(&Driver::shutdown);
    DriverState::set(CUDA_SUCCESS);
    return CUDA_SUCCESS;
}

// Work in flight is dropped, as at the exit of a process with a GPU. Threads are not joined: a host
// function may wait for a lock that the exiting thread holds.
void Driver::shutdown() {
    if (in_forked_child.load()) return;
    if (!DriverState::end()) return;
    native::stop();
    get().executors.stop();
    get().scheduler.stop();
    watch::summarise();
}

Device& Driver::device(CUdevice ordinal) {
    require(ordinal >= 0 && static_cast<std::size_t>(ordinal) < devices.size(),
            CUDA_ERROR_INVALID_DEVICE);
    return *devices[static_cast<std::size_t>(ordinal)];
}

Budget& Driver::budget(const Allocation& allocation) {
    return allocation.on_host() ? host_memory : device(allocation.device).budget();
}

std::string Driver::last_fault() const {
    std::lock_guard lock(fault_mutex_);
    return fault_;
}

void Driver::set_last_fault(std::string text) {
    std::lock_guard lock(fault_mutex_);
    fault_ = std::move(text);
}

}  // namespace cupola::cpu
