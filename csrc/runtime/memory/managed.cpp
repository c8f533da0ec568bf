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
        const RelaxedCapture relaxed(context.driver);
        CUdeviceptr pointer = 0;
        CUresult code = context.driver->cuMemAllocManaged(&pointer, size, CU_MEM_ATTACH_GLOBAL);
        if (code != CUDA_SUCCESS) fail_allocation(context.driver, code, "cuMemAllocManaged", size);
        begin(pointer, "managed");
    }
};

// The driver's location of a device, in the driver of the memory's context.
CUdevice location(const Context& context, int device) {
    if (device < 0) return CU_DEVICE_CPU;
    const Context& place = cupola::context(device);
    require_same_driver(place, "the place", context, "the memory");
    return place.device;
}

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
    const Context& context = stream.context;
    const ContextScope current(context);
    const auto call = context.driver->cuMemPrefetchAsync;
    if (!call)
        fail_driver(context.driver, CUDA_ERROR_NOT_SUPPORTED, "cuMemPrefetchAsync", requirement);
    const CUresult code = call(address, size, location(context, device), stream.handle);
    if (code != CUDA_SUCCESS) fail_driver(context.driver, code, "cuMemPrefetchAsync", requirement);
}

void advise(std::uint64_t address, std::size_t size, int advice, bool give, int device) {
    const CUmem_advise what = advice_of(advice, give);
    if (size == 0) return;
    const int owner = device_of_address(address);
    const Context& c = cupola::context(owner < 0 ? current_device() : owner);
    const ContextScope current(c);
    const RelaxedCapture relaxed(c.driver);
    const auto call = c.driver->cuMemAdvise;
    if (!call) fail_driver(c.driver, CUDA_ERROR_NOT_SUPPORTED, "cuMemAdvise", requirement);
    const CUresult code = call(address, size, what, location(c, device));
    if (code != CUDA_SUCCESS) fail_driver(c.driver, code, "cuMemAdvise", requirement);
}

}  // namespace cupola
