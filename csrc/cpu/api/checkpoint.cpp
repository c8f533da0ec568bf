// csrc/cpu/api/checkpoint.cpp - cu* entry points: checkpoints of a process, which this driver does
// not support.
#include <signal.h>
#include <unistd.h>

#include "cpu/driver.hpp"

using namespace cupola::cpu;

namespace {

// These calls concern a process. The caller needs cuInit only if it names itself.
template <class Body>
CUresult about(int pid, Body&& body) {
    return guarded([&] {
        require(pid > 0 && kill(pid, 0) == 0, CUDA_ERROR_OPERATING_SYSTEM);
        require(pid == getpid(), CUDA_ERROR_NOT_SUPPORTED);
        require_success(DriverState::get());
        return body();
    });
}

CUresult not_supported() { return CUDA_ERROR_NOT_SUPPORTED; }
// A process cannot be locked here, so its state is running.
CUresult is_running() { return CUDA_ERROR_ILLEGAL_STATE; }

}  // namespace

CUPOLA_API CUresult cuCheckpointProcessGetState(int pid, CUprocessState* state) {
    if (!state) return CUDA_ERROR_INVALID_VALUE;
    return about(pid, [&] {
        *state = CU_PROCESS_STATE_RUNNING;
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuCheckpointProcessGetRestoreThreadId(int pid, int* thread) {
    return thread ? about(pid, not_supported) : CUDA_ERROR_INVALID_VALUE;
}

CUPOLA_API CUresult cuCheckpointProcessLock(int pid, CUcheckpointLockArgs*) {
    return about(pid, not_supported);
}

CUPOLA_API CUresult cuCheckpointProcessCheckpoint(int pid, CUcheckpointCheckpointArgs*) {
    return about(pid, is_running);
}

CUPOLA_API CUresult cuCheckpointProcessRestore(int pid, CUcheckpointRestoreArgs*) {
    return about(pid, is_running);
}

CUPOLA_API CUresult cuCheckpointProcessUnlock(int pid, CUcheckpointUnlockArgs*) {
    return about(pid, is_running);
}
