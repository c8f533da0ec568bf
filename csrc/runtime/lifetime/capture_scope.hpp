// csrc/runtime/lifetime/capture_scope.hpp - running captures, and scopes that relax or block them.
#pragma once

#include <atomic>
#include <cstdint>
#include <shared_mutex>

#include "runtime/driver/driver.hpp"

namespace cupola {

// The number of captures that cupola has begun and not ended.
extern std::atomic<int> running_captures;

inline bool any_capture() { return running_captures.load(std::memory_order_acquire) != 0; }

// Whether the driver reports that the stream is in no capture, of any library. False after the
// driver must no longer be called.
bool is_not_capturing(const DriverLink& driver, CUstream stream) noexcept;

// Whether the stream may take part in a capture. The legacy default stream never does.
inline bool may_be_captured(const DriverLink& driver, CUstream stream) noexcept {
    if (any_capture()) return true;
    return stream != nullptr && stream != CU_STREAM_LEGACY && !is_not_capturing(driver, stream);
}

// In its scope this thread may make calls that a capture forbids: allocate, load, wait.
class RelaxedCapture {
  public:
    // Destructors need `any_library`: garbage collection may run during another library's capture.
    enum Of { ours, any_library };

    explicit RelaxedCapture(const DriverLink& driver, Of of = ours) noexcept;
    ~RelaxedCapture();
    RelaxedCapture(const RelaxedCapture&) = delete;
    RelaxedCapture& operator=(const RelaxedCapture&) = delete;

  private:
    const DriverLink& driver_;
    bool changed_ = false;
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

// Capture::begin holds it exclusively, CaptureBlock shares it.
std::shared_mutex& capture_gate();

// In its scope no capture begins: a stream that is not being captured stays so.
class CaptureBlock {
  public:
    CaptureBlock() : lock_(capture_gate()) {}

  private:
    std::shared_lock<std::shared_mutex> lock_;
};

}  // namespace cupola
