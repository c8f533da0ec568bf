// csrc/runtime/context/work_observer.cpp - the observer of each thread.
#include "runtime/context/work_observer.hpp"

#include <mutex>

namespace cupola {
namespace {

thread_local WorkObserver* observer = nullptr;

// Threads with an observer. The lock orders the changes of the drivers' flag.
std::mutex mutex;
int observers = 0;

}  // namespace

WorkObserver* WorkObserver::current() noexcept { return observer; }

void WorkObserver::refuse_current() noexcept {
    if (observer) observer->refuse();
}

bool WorkObserver::enter(WorkObserver& entered) noexcept {
    if (observer) return false;
    std::lock_guard<std::mutex> lock(mutex);
    observer = &entered;
    if (observers++ == 0) instrument(Driver::recorded, true);
    return true;
}

void WorkObserver::leave() noexcept {
    std::lock_guard<std::mutex> lock(mutex);
    observer = nullptr;
    if (--observers == 0) instrument(Driver::recorded, false);
}

}  // namespace cupola
