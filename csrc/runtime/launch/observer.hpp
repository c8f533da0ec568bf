// csrc/runtime/launch/observer.hpp - the function that is called around each launch.
#pragma once

#include "runtime/context/stream.hpp"
#include "runtime/module/kernel.hpp"

namespace cupola {

class LaunchObserver {
  public:
    // Null: none. While one is set, launches take the instrumented path.
    static void set(cupola_launch_observer observer) noexcept;

    // Calls the observer at its begin and, with the outcome, at its end.
    class Call {
      public:
        Call(Kernel& kernel, const cupola_dimensions& dimensions,
             const cupola_attributes* attributes, void** pointers, Stream& stream);
        ~Call();
        Call(const Call&) = delete;
        Call& operator=(const Call&) = delete;

      private:
        void tell(int stage) const;

        const cupola_launch_observer observer_;  // the same one at both ends
        Kernel& kernel_;
        const cupola_dimensions& dimensions_;
        const cupola_attributes* attributes_;
        void** pointers_;
        Stream& stream_;
        int exceptions_;
    };
};

}  // namespace cupola
