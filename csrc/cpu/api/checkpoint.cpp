// csrc/cpu/api/checkpoint.cpp - cu* entry points: checkpoints of this process.
//
// Device memory is host memory, so a checkpoint has nothing to copy: it waits until no work runs.
// Another process cannot be locked from here.
#include <signal.h>
#include <unistd.h>

#include "cpu/device/driver/driver.hpp"

using namespace cupola::cpu;

namespace {

struct Process {
    std::mutex mutex;
    CUprocessState state = CU_PROCESS_STATE_RUNNING;
};

Process& process() {
    static auto* const made = new Process;
    return *made;
}

// These calls concern a process. The caller needs cuInit only if it names itself. `body` gets the
// state of the process under its mutex.
template <class Body>
CUresult about(int pid, Body&& body) {
    return guarded([&] {
        require(pid > 0 && kill(pid, 0) == 0, CUDA_ERROR_OPERATING_SYSTEM);
        require(pid == getpid(), CUDA_ERROR_NOT_SUPPORTED);
        require_success(DriverState::get());
        std::lock_guard lock(process().mutex);
        body(process().state);
        return CUDA_SUCCESS;
    });
}

void change(CUprocessState& state, CUprocessState from, CUprocessState to) {
    require(state == from, CUDA_ERROR_ILLEGAL_STATE);
    state = to;
}

}  // namespace

CUPOLA_API CUresult cuCheckpointProcessGetState(int pid, CUprocessState* out) {
    if (!out) return CUDA_ERROR_INVALID_VALUE;
    return about(pid, [&](CUprocessState state) { *out = state; });
}

// Any thread can restore the process; the first one is named.
CUPOLA_API CUresult cuCheckpointProcessGetRestoreThreadId(int pid, int* thread) {
    if (!thread) return CUDA_ERROR_INVALID_VALUE;
    return about(pid, [&](CUprocessState) { *thread = pid; });
}

// Entry points that other threads call from now on wait. There is no wait here, so the arguments'
// time limit cannot pass.
CUPOLA_API CUresult cuCheckpointProcessLock(int pid, CUcheckpointLockArgs*) {
    return about(pid, [&](CUprocessState& state) {
        change(state, CU_PROCESS_STATE_RUNNING, CU_PROCESS_STATE_LOCKED);
        DriverState::lock();
    });
}

CUPOLA_API CUresult cuCheckpointProcessCheckpoint(int pid, CUcheckpointCheckpointArgs*) {
    return about(pid, [&](CUprocessState& state) {
        change(state, CU_PROCESS_STATE_LOCKED, CU_PROCESS_STATE_CHECKPOINTED);
        Driver::get().gate.run_quiesced([] {});
    });
}

// Devices cannot be exchanged for others.
CUPOLA_API CUresult cuCheckpointProcessRestore(int pid, CUcheckpointRestoreArgs* arguments) {
    return about(pid, [&](CUprocessState& state) {
        require(state == CU_PROCESS_STATE_CHECKPOINTED, CUDA_ERROR_ILLEGAL_STATE);
        require(!arguments || arguments->gpuPairsCount == 0, CUDA_ERROR_NOT_SUPPORTED);
        state = CU_PROCESS_STATE_LOCKED;
    });
}

CUPOLA_API CUresult cuCheckpointProcessUnlock(int pid, CUcheckpointUnlockArgs*) {
    return about(pid, [&](CUprocessState& state) {
        change(state, CU_PROCESS_STATE_LOCKED, CU_PROCESS_STATE_RUNNING);
        DriverState::unlock();
    });
}
