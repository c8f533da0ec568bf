// csrc/runtime/memory/memory.hpp - memory that cupola owns, freed in stream order.
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
    // Registers and logs the memory; `kind` names it in the log. Call it last in a constructor.
    void begin(std::uint64_t at, const char* kind);

  private:
    void log_it(const char* what) const;
    const char* kind_ = "";
};

// Memory of a pool. The stream that frees it waits for the other streams that used it.
class DeviceMemory : public Memory {
  public:
    DeviceMemory(Context& context, std::size_t size, Stream& stream);
    ~DeviceMemory() override;
    void use(Stream& stream) override;

  private:
    CUdeviceptr allocate(std::size_t bytes);

    bool pooled_ = false;
    bool reusable_ = false;  // the stream's free list may keep it: no graph uses it
    std::mutex mutex_;
    Ref<Stream> first_;  // the stream on which the memory was allocated
    std::vector<Ref<Stream>> others_;
    // The last stream that used it, if first_ or others_ keep that object alive. Only compared.
    std::atomic<const Stream*> latest_{nullptr};
};

// Memory that cuMemFree releases, which waits for all work of the device.
class UnpooledMemory : public Memory {
  public:
    using Memory::Memory;
    ~UnpooledMemory() override;
};

// Throws for a failed allocation, with the requested size. Out of memory, it adds the free memory:
// of the current context's device, or of the host.
enum class Whose { device, host };
[[noreturn]] void fail_allocation(const Driver& driver, CUresult code, const char* call,
                                  std::size_t size, Whose whose = Whose::device);
// "free: 5 bytes of 7 bytes", of the current context's device; empty where it is unknown.
std::string free_device_memory(const Driver& driver);

inline Memory* unwrap(cupola_memory* memory) { return reinterpret_cast<Memory*>(memory); }
inline const Memory* unwrap(const cupola_memory* m) { return reinterpret_cast<const Memory*>(m); }
inline cupola_memory* wrap(Memory* memory) { return reinterpret_cast<cupola_memory*>(memory); }

}  // namespace cupola
