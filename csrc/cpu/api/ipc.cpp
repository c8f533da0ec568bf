// csrc/cpu/api/ipc.cpp - cu* entry points: memory and events shared between processes.
#include "cpu/api/handle.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"
#include "cpu/device/launch/capture.hpp"
#include "cpu/device/memory/shared_file.hpp"
#include "cpu/device/stream/event.hpp"
#include "cpu/device/stream/shared_event.hpp"
#include "cpu/device/stream/stream.hpp"

using namespace cupola::cpu;

static_assert(sizeof(CUipcMemHandle) == SharedFile::name_size);
static_assert(sizeof(CUipcEventHandle) == SharedFile::name_size);

// Only memory of cuMemAlloc can be shared. An address inside an allocation shares the whole
// allocation.
CUPOLA_API CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
    return entry([&] {
        Context::usable();
        require(handle);
        Driver& driver = Driver::get();
        driver.memory.share(address, driver.gate)->name(handle);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle,
                                          unsigned int flags) {
    return entry([&] {
        const auto& context = Context::usable();
        require(address && flags == CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
        Allocation like;
        like.device = context->device().ordinal();
        like.context = context.get();
        *address = Driver::get().memory.open(like, &handle);
        return CUDA_SUCCESS;
    });
}
CUPOLA_ALIAS(cuIpcOpenMemHandle, cuIpcOpenMemHandle_v2);

// Waits for all work, like cuMemFree.
CUPOLA_API CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
    return entry([&] {
        const auto& context = Context::usable();
        Driver& driver = Driver::get();
        const std::uint64_t id = driver.memory.close(address);
        synchronize(*context);
        driver.memory.drop_closed(address, id, context->device().budget());
        return context->error();
    });
}

CUPOLA_API CUresult cuIpcGetEventHandle(CUipcEventHandle* handle, CUevent event) {
    return entry([&] {
        require(handle && event);
        const auto shared = event_of(event)->shared();
        require(shared && shared->mine(), CUDA_ERROR_INVALID_HANDLE);
        shared->name(handle);
        return CUDA_SUCCESS;
    });
}

CUPOLA_API CUresult cuIpcOpenEventHandle(CUevent* out, CUipcEventHandle handle) {
    return entry([&] {
        require(out);
        const auto& context = Context::usable();
        auto event = std::make_shared<Event>(
            context, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING, SharedEvent::open(&handle));
        *out = event->handle();
        Driver::get().events.add(std::move(event));
        return CUDA_SUCCESS;
    });
}
