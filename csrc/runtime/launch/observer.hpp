// csrc/runtime/launch/observer.hpp - the function that is called around each launch.
#pragma once

#include "runtime/context/stream.hpp"
#include "runtime/module/kernel.hpp"

namespace cupola {

// Null: none. While an observer is set, launches take the instrumented path.
void set_launch_observer(cupola_launch_observer observer) noexcept;

// Calls the observer at its begin and, with the outcome of the launch, at its end.
class ObservedLaunch {
  public:
    ObservedLaunch(Kernel& kernel, const cupola_dimensions& dimensions,
                   const cupola_attributes* attributes, void** pointers, Stream& stream);
    ~ObservedLaunch();
    ObservedLaunch(const ObservedLaunch&) = delete;
    ObservedLaunch& operator=(const ObservedLaunch&) = delete;

  private:
    void call(int stage) const;

    const cupola_launch_observer observer_;  // the same one at both ends
    Kernel& kernel_;
    const cupola_dimensions& dimensions_;
    const cupola_attributes* attributes_;
    void** pointers_;
    Stream& stream_;
    int exceptions_;
};

}  // namespace cupola
