// csrc/runtime/memory/managed.cpp - allocates managed memory and moves it.
#include "runtime/memory/managed.hpp"

#include "runtime/lifetime/capture_scope.hpp"

namespace cupola {
namespace {

class ManagedMemory : public UnpooledMemory {
  public:
    ManagedMemory(Context& context, std::size_t size) : UnpooledMemory(context, size) {
        if (size == 0) return;
        ContextScope current(context);
        const RelaxedCapture relaxed;
        CUdeviceptr pointer = 0;
        CUresult code = driver().cuMemAllocManaged(&pointer, size, CU_MEM_ATTACH_GLOBAL);
        if (code != CUDA_SUCCESS) fail_allocation(code, "cuMemAllocManaged", size);
        begin(pointer, "managed");
    }
};

CUdevice location(int device) { return device < 0 ? CU_DEVICE_CPU : context(device).device; }

// In the driver's numbering, withdrawing an advice is the number after giving it.
CUmem_advise advice_of(int advice, bool give) {
    switch (advice) {
        case CUPOLA_ADVISE_READ_MOSTLY:
            return give ? CU_MEM_ADVISE_SET_READ_MOSTLY : CU_MEM_ADVISE_UNSET_READ_MOSTLY;
        case CUPOLA_ADVISE_PREFERRED_LOCATION:
            return give ? CU_MEM_ADVISE_SET_PREFERRED_LOCATION
                        : CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
        case CUPOLA_ADVISE_ACCESSED_BY:
            return give ? CU_MEM_ADVISE_SET_ACCESSED_BY : CU_MEM_ADVISE_UNSET_ACCESSED_BY;
        default:
            fail(CUPOLA_ERROR_VALUE, "unknown advice " + std::to_string(advice));
    }
}

constexpr const char* requirement =
    "managed memory of a device with concurrent managed access is required";

}  // namespace

Ref<Memory> allocate_managed(Context& context, std::size_t size) {
    return Ref<Memory>::adopt(new ManagedMemory(context, size));
}

void prefetch(std::uint64_t address, std::size_t size, int device, Stream& stream) {
    const ContextScope current(stream.context);
    const auto call = driver().cuMemPrefetchAsync;
    if (!call) fail_driver(CUDA_ERROR_NOT_SUPPORTED, "cuMemPrefetchAsync", requirement);
    const CUresult code = call(address, size, location(device), stream.handle);
    if (code != CUDA_SUCCESS) fail_driver(code, "cuMemPrefetchAsync", requirement);
}

void advise(std::uint64_t address, std::size_t size, int advice, bool give, int device) {
    const CUmem_advise what = advice_of(advice, give);
    if (size == 0) return;
    const ContextScope current(context(device < 0 ? current_device() : device));
    const RelaxedCapture relaxed;
    const auto call = driver().cuMemAdvise;
    if (!call) fail_driver(CUDA_ERROR_NOT_SUPPORTED, "cuMemAdvise", requirement);
    const CUresult code = call(address, size, what, location(device));
    if (code != CUDA_SUCCESS) fail_driver(code, "cuMemAdvise", requirement);
}

}  // namespace cupola
