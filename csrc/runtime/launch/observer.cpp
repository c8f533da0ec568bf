// csrc/runtime/launch/observer.cpp - sets the observer of launches, and calls it.
#include "runtime/launch/observer.hpp"

#include <atomic>
#include <exception>

#include "runtime/driver/driver.hpp"

namespace cupola {
namespace {

std::atomic<cupola_launch_observer> current{nullptr};

}  // namespace

void set_launch_observer(cupola_launch_observer observer) noexcept {
    current.store(observer);
    instrument(Driver::observed, observer != nullptr);
}

ObservedLaunch::ObservedLaunch(Kernel& kernel, const cupola_dimensions& dimensions,
                               const cupola_attributes* attributes, void** pointers, Stream& stream)
    : observer_(current.load()),
      kernel_(kernel),
      dimensions_(dimensions),
      attributes_(attributes),
      pointers_(pointers),
      stream_(stream),
      exceptions_(std::uncaught_exceptions()) {
    call(CUPOLA_LAUNCH_BEGINS);
}

ObservedLaunch::~ObservedLaunch() {
    call(std::uncaught_exceptions() > exceptions_ ? CUPOLA_LAUNCH_FAILED : CUPOLA_LAUNCH_QUEUED);
}

void ObservedLaunch::call(int stage) const {
    if (observer_)
        observer_(stage, wrap(&kernel_), &dimensions_, attributes_, pointers_, wrap(&stream_));
}

}  // namespace cupola
