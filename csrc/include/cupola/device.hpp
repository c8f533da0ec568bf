// cupola/device.hpp - devices, and this thread's current device.
#ifndef CUPOLA_DEVICE_HPP
#define CUPOLA_DEVICE_HPP

#include <string>

#include "cupola/device.h"
#include "cupola/error.hpp"

namespace cupola {

class device {
  public:
    explicit device(int ordinal = current_ordinal()) : ordinal_(ordinal) {}

    static int count() {
        int count = 0;
        check(cupola_device_count(&count));
        return count;
    }
    static int current_ordinal() {
        int ordinal = 0;
        check(cupola_device_current(&ordinal));
        return ordinal;
    }

    int ordinal() const noexcept { return ordinal_; }
    std::string name() const {
        char text[256];
        check(cupola_device_name(ordinal_, text, sizeof text));
        return text;
    }
    int attribute(int attribute) const {  // CUdevice_attribute
        int value = 0;
        check(cupola_device_attribute(ordinal_, attribute, &value));
        return value;
    }
    void synchronize() const { check(cupola_device_synchronize(ordinal_)); }

    // Makes the device current for a scope.
    class scope {
      public:
        explicit scope(const device& device) { check(cupola_device_push(device.ordinal())); }
        ~scope() { cupola_device_pop(); }
        scope(const scope&) = delete;
        scope& operator=(const scope&) = delete;
    };

  private:
    int ordinal_;
};

}  // namespace cupola

#endif  // CUPOLA_DEVICE_HPP
