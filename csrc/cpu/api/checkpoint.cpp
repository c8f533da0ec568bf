// csrc/cpu/api/checkpoint.cpp - cu* entry points: the state of a process for checkpoints, which
// this driver does not make.
#include <signal.h>
#include <unistd.h>

#include "cpu/driver.hpp"

using namespace cupola::cpu;

namespace {

// These are calls about a process. The calling one need not have called cuInit, unless it asks
// about itself.
template <class Body>
CUresult about(int pid, Body&& body) {
    return guarded([&] {
        require(pid > 0 && kill(pid, 0) == 0, CUDA_ERROR_OPERATING_SYSTEM);
        require(pid == getpid(), CUDA_ERROR_NOT_SUPPORTED);
        require(Driver::state() == CUDA_SUCCESS, Driver::state());
        return body();
    });
}

CUresult not_supported() { return CUDA_ERROR_NOT_SUPPORTED; }
// A process that can't be locked is running.
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
