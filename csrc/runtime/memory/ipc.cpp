// csrc/runtime/memory/ipc.cpp - exports device memory to other processes and imports it.
#include "runtime/memory/ipc.hpp"

#include "runtime/lifetime/capture_scope.hpp"

static_assert(CUPOLA_IPC_HANDLE_SIZE == sizeof(CUipcMemHandle));

namespace cupola {
namespace {

// Allocated by cuMemAlloc: memory of a pool has no such handle.
class ExportableMemory : public UnpooledMemory {
  public:
    ExportableMemory(Context& context, std::size_t size) : UnpooledMemory(context, size) {
        if (size == 0) return;
        ContextScope current(context);
        const RelaxedCapture relaxed(context.driver);
        CUdeviceptr pointer = 0;
        CUresult code = context.driver->cuMemAlloc(&pointer, size);
        if (code != CUDA_SUCCESS) fail_allocation(context.driver, code, "cuMemAlloc", size);
        begin(pointer, "exportable");
    }
    bool exportable() const override { return true; }
};

class ImportedMemory : public Memory {
  public:
    ImportedMemory(Context& context, const CUipcMemHandle& handle) : Memory(context, 0) {
        const auto call = context.driver->cuIpcOpenMemHandle;
        if (!call) fail_driver(context.driver, CUDA_ERROR_NOT_SUPPORTED, "cuIpcOpenMemHandle");
        ContextScope current(context);
        const RelaxedCapture relaxed(context.driver);
        CUdeviceptr pointer = 0;
        CUresult code = call(&pointer, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
        if (code != CUDA_SUCCESS)
            fail_driver(context.driver, code, "cuIpcOpenMemHandle",
                        "open a handle in another process than the one that made it, once at "
                        "a time, while that process still holds the memory");
        code = context.driver->cuMemGetAddressRange(nullptr, &size, pointer);
        if (code != CUDA_SUCCESS) {
            context.driver->cuIpcCloseMemHandle(pointer);
            fail_driver(context.driver, code, "cuMemGetAddressRange");
        }
        begin(pointer, "of another process");
    }
    ~ImportedMemory() override {
        const Driver* d = context.driver.alive();
        if (!d || !address) return;
        try {
            ContextScope current(context);
            const RelaxedCapture relaxed(context.driver, RelaxedCapture::any_library);
            d->cuCtxSynchronize();  // work that uses the memory may be in flight
            d->cuIpcCloseMemHandle(address);
        } catch (const Error&) {
        }
    }
};

}  // namespace

Ref<Memory> allocate_exportable(Context& context, std::size_t size) {
    return Ref<Memory>::adopt(new ExportableMemory(context, size));
}

CUipcMemHandle export_memory(const Memory& memory) {
    if (!memory.exportable() || !memory.address)
        fail(CUPOLA_ERROR_VALUE,
             memory.address ? "this memory can't be shared with other processes: it was not "
                              "allocated as exportable"
                            : "memory of 0 bytes can't be shared with other processes");
    const Context& context = memory.context;
    const auto call = context.driver->cuIpcGetMemHandle;
    if (!call) fail_driver(context.driver, CUDA_ERROR_NOT_SUPPORTED, "cuIpcGetMemHandle");
    const ContextScope current(memory.context);
    CUipcMemHandle made{};
    const CUresult code = call(&made, memory.address);
    if (code != CUDA_SUCCESS)
        fail_driver(context.driver, code, "cuIpcGetMemHandle",
                    "this driver does not share device memory between processes");
    return made;
}

Ref<Memory> import_memory(Context& context, const CUipcMemHandle& handle) {
    return Ref<Memory>::adopt(new ImportedMemory(context, handle));
}

}  // namespace cupola
