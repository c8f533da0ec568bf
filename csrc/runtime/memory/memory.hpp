// csrc/runtime/memory/memory.hpp - memory that cupola owns, freed in the order of the work that
// used it.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "cupola/memory.h"
#include "runtime/context/stream.hpp"
#include "runtime/lifetime/retained_object.hpp"

namespace cupola {

class Memory : public RetainedObject {
  public:
    Memory(Context& context, std::size_t size) : context(context), size(size) {}
    ~Memory() override;

    Context& context;
    std::uint64_t address = 0;  // 0 where size is 0
    std::size_t size = 0;
    virtual void use(Stream&) {}
    virtual bool exportable() const { return false; }

  protected:
    // It is there: `kind` is what the log calls it. For the end of a constructor.
    void begin(std::uint64_t at, const char* kind);

  private:
    void log_it(const char* what) const;
    const char* kind_ = "";
};

// Work that was queued on several streams is waited for in the stream that frees.
class DeviceMemory : public Memory {
  public:
    DeviceMemory(Context& context, std::size_t size, Stream& stream);
    ~DeviceMemory() override;
    void use(Stream& stream) override;

  private:
    CUdeviceptr allocate();

    bool pooled_ = false;
    bool spared_ = false;  // may be kept for the stream: it is no graph's
    std::mutex mutex_;
    Ref<Stream> first_;  // the one it was allocated on
    std::vector<Ref<Stream>> others_;
    // The one that used it last, where first_ or others_ keep that very object: for comparison.
    std::atomic<const Stream*> latest_{nullptr};
};

// Memory that cuMemFree releases, which waits for all work of the device.
class UnpooledMemory : public Memory {
  public:
    using Memory::Memory;
    ~UnpooledMemory() override;
};

// Says what was asked for, and for want of memory what there is: in the current context's device,
// or on the host.
enum class Whose { device, host };
[[noreturn]] void fail_allocation(CUresult code, const char* call, std::size_t size,
                                  Whose whose = Whose::device);
// "free: 5 bytes of 7 bytes", of the current context's device; empty where it does not tell.
std::string free_device_memory();

inline Memory* unwrap(cupola_memory* memory) { return reinterpret_cast<Memory*>(memory); }
inline const Memory* unwrap(const cupola_memory* m) { return reinterpret_cast<const Memory*>(m); }
inline cupola_memory* wrap(Memory* memory) { return reinterpret_cast<cupola_memory*>(memory); }

}  // namespace cupola
