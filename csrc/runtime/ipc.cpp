// csrc/runtime/ipc.cpp - device memory that several processes map.
#include <cstring>

#include "runtime/capture.hpp"
#include "runtime/memory.hpp"

static_assert(CUPOLA_IPC_HANDLE_SIZE == sizeof(CUipcMemHandle));

namespace cupola {
namespace {

// Of cuMemAlloc: memory of a pool has no such handle.
class ExportableMemory : public UnpooledMemory {
  public:
    ExportableMemory(Context& context, std::size_t size) : UnpooledMemory(context, size) {
        if (size == 0) return;
        Current current(context);
        const Capture::Relaxed relaxed;
        CUdeviceptr pointer = 0;
        CUresult code = driver().cuMemAlloc(&pointer, size);
        if (code != CUDA_SUCCESS) fail_allocation(code, "cuMemAlloc", size);
        begin(pointer, "exportable");
    }
    bool exportable() const override { return true; }
};

class ImportedMemory : public Memory {
  public:
    ImportedMemory(Context& context, const CUipcMemHandle& handle) : Memory(context, 0) {
        const auto call = driver().cuIpcOpenMemHandle;
        if (!call) fail_driver(CUDA_ERROR_NOT_SUPPORTED, "cuIpcOpenMemHandle");
        Current current(context);
        const Capture::Relaxed relaxed;
        CUdeviceptr pointer = 0;
        CUresult code = call(&pointer, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
        if (code != CUDA_SUCCESS)
            fail_driver(code, "cuIpcOpenMemHandle",
                        "a handle is opened by another process than the one that made it, once at "
                        "a time, and while that one still holds the memory");
        code = driver().cuMemGetAddressRange(nullptr, &size, pointer);
        if (code != CUDA_SUCCESS) {
            driver().cuIpcCloseMemHandle(pointer);
            fail_driver(code, "cuMemGetAddressRange");
        }
        begin(pointer, "of another process");
    }
    ~ImportedMemory() override {
        const Driver* d = driver_alive();
        if (!d || !address) return;
        try {
            Current current(context);
            const Capture::Relaxed relaxed(Capture::Relaxed::anybodys);
            d->cuCtxSynchronize();  // work that uses it may be in flight
            d->cuIpcCloseMemHandle(address);
        } catch (const Error&) {
        }
    }
};

}  // namespace
}  // namespace cupola

using namespace cupola;

int cupola_memory_allocate_exportable(int device, size_t bytes, cupola_memory** out) {
    return guard([&] {
        required(out, "out");
        *out = wrap(make<ExportableMemory>(context(device), bytes).detach());
    });
}

int cupola_memory_export(const cupola_memory* memory, void* handle) {
    return guard([&] {
        const Memory& m = *unwrap(required(memory, "memory"));
        required(handle, "handle");
        if (!m.exportable() || !m.address)
            fail(CUPOLA_ERROR_VALUE,
                 m.address ? "this memory can't be shared with other processes: it was not "
                             "allocated as exportable"
                           : "memory of no bytes can't be shared with other processes");
        const auto call = driver().cuIpcGetMemHandle;
        if (!call) fail_driver(CUDA_ERROR_NOT_SUPPORTED, "cuIpcGetMemHandle");
        Current current(m.context);
        CUipcMemHandle made{};
        CUresult code = call(&made, m.address);
        if (code != CUDA_SUCCESS)
            fail_driver(code, "cuIpcGetMemHandle",
                        "this driver does not share device memory between processes");
        std::memcpy(handle, &made, sizeof made);
    });
}

int cupola_memory_import(int device, const void* handle, cupola_memory** out) {
    return guard([&] {
        required(out, "out");
        CUipcMemHandle given;
        std::memcpy(&given, required(handle, "handle"), sizeof given);
        *out = wrap(make<ImportedMemory>(context(device), given).detach());
    });
}
