// csrc/cpu/api/notification.cpp - cu* entry points: callbacks for a program that is over its budget
// of video memory. The CPU device sets no such budget, so no callback ever runs.
#include <map>
#include <mutex>

#include "cpu/device/driver/driver.hpp"

using namespace cupola::cpu;

namespace {

// The registered handles with their devices. A handle is a number that is never used again.
class Notifications {
  public:
    static Notifications& get() {
        static Notifications* const made = new Notifications;  // never destroyed
        return *made;
    }
    CUasyncCallbackHandle add(CUdevice device) {
        std::lock_guard lock(mutex_);
        devices_[++last_] = device;
        return reinterpret_cast<CUasyncCallbackHandle>(last_);
    }
    bool remove(CUdevice device, CUasyncCallbackHandle handle) {
        std::lock_guard lock(mutex_);
        const auto found = devices_.find(reinterpret_cast<std::uintptr_t>(handle));
        if (found == devices_.end() || found->second != device) return false;
        devices_.erase(found);
        return true;
    }

  private:
    std::mutex mutex_;
    std::uintptr_t last_ = 0;
    std::map<std::uintptr_t, CUdevice> devices_;
};

}  // namespace

CUPOLA_API CUresult cuDeviceRegisterAsyncNotification(CUdevice device, CUasyncCallback call, void*,
                                                      CUasyncCallbackHandle* handle) {
    return entry([&] {
        require(call && handle);
        *handle = Notifications::get().add(Driver::get().device(device).ordinal());
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuDeviceUnregisterAsyncNotification(CUdevice device,
                                                        CUasyncCallbackHandle handle) {
    return entry([&] {
        require(Notifications::get().remove(Driver::get().device(device).ordinal(), handle));
        return CUDA_SUCCESS;
    });
}
