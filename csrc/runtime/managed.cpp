// csrc/runtime/managed.cpp - managed memory: one address for host and devices.
#include "runtime/capture.hpp"
#include "runtime/memory.hpp"

namespace cupola {
namespace {

class ManagedMemory : public UnpooledMemory {
  public:
    ManagedMemory(Context& context, std::size_t size) : UnpooledMemory(context, size) {
        if (size == 0) return;
        Current current(context);
        const Capture::Relaxed relaxed;
        CUdeviceptr pointer = 0;
        CUresult code = driver().cuMemAllocManaged(&pointer, size, CU_MEM_ATTACH_GLOBAL);
        if (code != CUDA_SUCCESS) fail_allocation(code, "cuMemAllocManaged", size);
        begin(pointer, "managed");
    }
};

CUdevice location(int device) { return device < 0 ? CU_DEVICE_CPU : context(device).device; }

// Advice as the driver counts it: taking one back is the number after giving it.
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

constexpr const char* needs = "managed memory of a device with concurrent managed access is wanted";

}  // namespace
}  // namespace cupola

using namespace cupola;

int cupola_memory_allocate_managed(int device, size_t bytes, cupola_memory** out) {
    return guard([&] {
        required(out, "out");
        *out = wrap(make<ManagedMemory>(context(device), bytes).detach());
    });
}

int cupola_memory_prefetch(uint64_t address, size_t bytes, int device, cupola_stream* stream) {
    return guard([&] {
        if (bytes == 0) return;
        Stream& s = stream_of(stream);
        Current current(s.context);
        const auto call = driver().cuMemPrefetchAsync;
        if (!call) fail_driver(CUDA_ERROR_NOT_SUPPORTED, "cuMemPrefetchAsync", needs);
        CUresult code = call(address, bytes, location(device), s.handle);
        if (code != CUDA_SUCCESS) fail_driver(code, "cuMemPrefetchAsync", needs);
    });
}

int cupola_memory_advise(uint64_t address, size_t bytes, int advice, int give, int device) {
    return guard([&] {
        const CUmem_advise what = advice_of(advice, give != 0);
        if (bytes == 0) return;
        Current current(context(device < 0 ? current_device() : device));
        const Capture::Relaxed relaxed;
        const auto call = driver().cuMemAdvise;
        if (!call) fail_driver(CUDA_ERROR_NOT_SUPPORTED, "cuMemAdvise", needs);
        CUresult code = call(address, bytes, what, location(device));
        if (code != CUDA_SUCCESS) fail_driver(code, "cuMemAdvise", needs);
    });
}
