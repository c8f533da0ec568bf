// csrc/runtime/lifetime/capture_scope.cpp - queries captures and relaxes their rules.
#include "runtime/lifetime/capture_scope.hpp"

namespace cupola {

std::atomic<int> running_captures{0};

std::shared_mutex& capture_gate() {
    static auto* const gate = new std::shared_mutex;
    return *gate;
}

bool is_not_capturing(const DriverLink& driver, CUstream stream) noexcept {
    const Driver* d = driver.alive();
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return d && d->cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
           status == CU_STREAM_CAPTURE_STATUS_NONE;
}

RelaxedCapture::RelaxedCapture(const DriverLink& driver, Of of) noexcept : driver_(driver) {
    if (of == ours && !any_capture()) return;
    if (const Driver* d = driver_.alive())
        changed_ = d->cuThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS;
}

RelaxedCapture::~RelaxedCapture() {
    if (!changed_) return;
    if (const Driver* d = driver_.alive()) d->cuThreadExchangeStreamCaptureMode(&mode_);
}

}  // namespace cupola
