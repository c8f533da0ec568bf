// csrc/runtime/memory/pinned.cpp - allocates page-locked host memory and registers the caller's.
#include "runtime/memory/pinned.hpp"

#include <iterator>
#include <map>

#include "runtime/lifetime/capture_scope.hpp"

namespace cupola {
namespace {

class PinnedMemory : public Memory {
  public:
    PinnedMemory(Context& context, std::size_t size, unsigned flags) : Memory(context, size) {
        if (size == 0) return;
        ContextScope current(context);
        const RelaxedCapture relaxed(context.driver);
        void* pointer = nullptr;
        CUresult code =
            context.driver->cuMemHostAlloc(&pointer, size, CU_MEMHOSTALLOC_PORTABLE | flags);
        if (code != CUDA_SUCCESS)
            fail_allocation(context.driver, code, "cuMemHostAlloc", size, Whose::host);
        begin(reinterpret_cast<std::uintptr_t>(pointer), "page-locked");
    }
    ~PinnedMemory() override {
        const Driver* d = context.driver.alive();
        if (!d || !address) return;
        try {
            ContextScope current(context);
            const RelaxedCapture relaxed(context.driver, RelaxedCapture::any_library);
            d->cuMemFreeHost(reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)));
        } catch (const Error&) {
        }
    }
};

// The ranges that cupola registered in this process, by their begin. The driver can't register a
// range twice, so all users of a range or a part of it share one registration. Never destroyed.
struct Registrations {
    struct Range {
        std::uint64_t end;
        std::size_t users;
        unsigned flags;
    };
    std::mutex mutex;
    std::map<std::uint64_t, Range> ranges;
};

Registrations& registrations() {
    static Registrations* const all = new Registrations;
    return *all;
}

class RegisteredMemory : public Memory {
  public:
    RegisteredMemory(Context& context, void* host, std::size_t size, unsigned flags)
        : Memory(context, size) {
        if (size == 0) return;
        const std::uint64_t begin = reinterpret_cast<std::uintptr_t>(host);
        Registrations& all = registrations();
        ContextScope current(context);
        const RelaxedCapture relaxed(context.driver);
        std::lock_guard<std::mutex> lock(all.mutex);
        if (auto it = all.ranges.upper_bound(begin); it != all.ranges.begin()) {
            --it;
            const bool suits =
                it->second.flags == flags || !(it->second.flags & CU_MEMHOSTREGISTER_READ_ONLY);
            if (begin + size <= it->second.end && suits) {
                ++it->second.users;
                registered_ = it->first;
                this->begin(begin, "registered");
                return;
            }
        }
        CUresult code = context.driver->cuMemHostRegister(host, size, flags);
        if (code == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
            fail_driver(context.driver, code, "cuMemHostRegister",
                        "this memory, or a part of it, is page-locked already with other flags "
                        "or bounds: register the whole range once");
        if (code == CUDA_ERROR_NOT_SUPPORTED && flags & CU_MEMHOSTREGISTER_READ_ONLY)
            fail_driver(context.driver, code, "cuMemHostRegister",
                        "this device can't register read-only memory: make the memory writable");
        if (code != CUDA_SUCCESS)
            fail_allocation(context.driver, code, "cuMemHostRegister", size, Whose::host);
        all.ranges[begin] = {begin + size, 1, flags};
        registered_ = begin;
        this->begin(begin, "registered");
    }
    ~RegisteredMemory() override {
        const Driver* d = context.driver.alive();
        if (!d || !address) return;
        Registrations& all = registrations();
        std::lock_guard<std::mutex> lock(all.mutex);
        const auto it = all.ranges.find(registered_);
        if (--it->second.users > 0) return;
        all.ranges.erase(it);
        try {
            ContextScope current(context);
            const RelaxedCapture relaxed(context.driver, RelaxedCapture::any_library);
            d->cuCtxSynchronize();  // a copy may be reading the memory
            d->cuMemHostUnregister(reinterpret_cast<void*>(std::uintptr_t(registered_)));
        } catch (const Error&) {
        }
    }

  private:
    std::uint64_t registered_ = 0;  // the begin of the registered range
};

void refuse_flags(unsigned flags, unsigned known, const char* what) {
    if (flags & ~known)
        fail(CUPOLA_ERROR_VALUE,
             std::string("unknown flags for ") + what + " memory: " + std::to_string(flags));
}

}  // namespace

Ref<Memory> allocate_pinned(Context& context, std::size_t size, unsigned flags) {
    refuse_flags(flags, CUPOLA_PINNED_WRITE_COMBINED, "pinned");
    const unsigned cuda = flags & CUPOLA_PINNED_WRITE_COMBINED ? CU_MEMHOSTALLOC_WRITECOMBINED : 0;
    return Ref<Memory>::adopt(new PinnedMemory(context, size, cuda));
}

Ref<Memory> register_host(Context& context, void* host, std::size_t size, unsigned flags) {
    refuse_flags(flags, CUPOLA_REGISTER_READ_ONLY, "registered");
    const unsigned cuda = CU_MEMHOSTREGISTER_PORTABLE |
                          (flags & CUPOLA_REGISTER_READ_ONLY ? CU_MEMHOSTREGISTER_READ_ONLY : 0);
    return Ref<Memory>::adopt(new RegisteredMemory(context, host, size, cuda));
}

}  // namespace cupola
