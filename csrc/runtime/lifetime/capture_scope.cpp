// csrc/runtime/lifetime/capture_scope.cpp - queries captures and relaxes their rules.
#include "runtime/lifetime/capture_scope.hpp"

namespace cupola {

std::atomic<int> running_captures{0};

std::shared_mutex& capture_gate() {
    static auto* const gate = new std::shared_mutex;
    return *gate;
}

bool is_not_capturing(CUstream stream) noexcept {
    const Driver* d = driver_alive();
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return d && d->cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
           status == CU_STREAM_CAPTURE_STATUS_NONE;
}

RelaxedCapture::RelaxedCapture(Of of) noexcept {
    if (of == ours && !any_capture()) return;
    if (const Driver* d = driver_alive())
        changed_ = d->cuThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS;
}

RelaxedCapture::~RelaxedCapture() {
    if (!changed_) return;
    if (const Driver* d = driver_alive()) d->cuThreadExchangeStreamCaptureMode(&mode_);
}

}  // namespace cupola
