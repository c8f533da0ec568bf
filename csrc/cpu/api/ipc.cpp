// csrc/cpu/api/ipc.cpp - cu* entry points: memory of other processes. This device's memory is its
// process's own, so there is none.
#include "cpu/context.hpp"
#include "cpu/driver.hpp"

using namespace cupola::cpu;

CUPOLA_API CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
    return entry([&] {
        Context::usable();
        require(handle);
        const auto found = Driver::get().memory.at(address);
        require(found && !found->on_host());
        return CUDA_ERROR_NOT_SUPPORTED;
    });
}

CUPOLA_API CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle, unsigned int) {
    return entry([&] {
        Context::usable();
        require(address);
        return CUDA_ERROR_NOT_SUPPORTED;
    });
}
CUPOLA_ALIAS(cuIpcOpenMemHandle, cuIpcOpenMemHandle_v2);

CUPOLA_API CUresult cuIpcCloseMemHandle(CUdeviceptr) {
    return entry([&] {
        Context::usable();
        return CUDA_ERROR_INVALID_VALUE;  // nothing was opened
    });
}
