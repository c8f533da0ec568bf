// cupola/memory.hpp - device and page-locked memory, and copies between them and the host.
#ifndef CUPOLA_MEMORY_HPP
#define CUPOLA_MEMORY_HPP

#include "cupola/copy.h"
#include "cupola/memory.h"
#include "cupola/stream.hpp"

namespace cupola {

class memory : public handle<cupola_memory, cupola_memory_retain, cupola_memory_release> {
  public:
    // Device memory for later work of the stream (null: the current one).
    explicit memory(std::size_t bytes, cupola_stream* stream = nullptr,
                    const device& device = cupola::device())
        : handle(allocate(bytes, stream, device)) {}

    // Page-locked host memory; the flags are CUPOLA_PINNED_*.
    static memory pinned(std::size_t bytes, const device& device = cupola::device(),
                         unsigned flags = 0) {
        return made(cupola_memory_allocate_pinned, device, bytes, flags);
    }
    // Memory with one address for host and devices.
    static memory managed(std::size_t bytes, const device& device = cupola::device()) {
        return made(cupola_memory_allocate_managed, device, bytes);
    }

    std::uint64_t address() const noexcept { return cupola_memory_address(get()); }
    std::size_t size() const noexcept { return cupola_memory_size(get()); }

    // Queued on the stream; see cupola_copy_to_device and cupola_copy_to_host.
    void set(const void* from, std::size_t bytes, cupola_stream* stream = nullptr) {
        check(cupola_copy_to_device(address(), from, within(bytes), stream));
        check(cupola_memory_use(handle::get(), stream));
    }
    void get(void* to, std::size_t bytes, cupola_stream* stream = nullptr) const {
        check(cupola_copy_to_host(to, address(), within(bytes), stream));
        check(cupola_memory_use(handle::get(), stream));
    }
    using handle::get;

  private:
    explicit memory(cupola_memory* taken) noexcept : handle(taken) {}
    template <class Make, class... Args>
    static memory made(Make make, const device& device, Args... args) {
        cupola_memory* out = nullptr;
        check(make(device.ordinal(), args..., &out));
        return memory(out);
    }
    static cupola_memory* allocate(std::size_t bytes, cupola_stream* stream, const device& device) {
        cupola_memory* out = nullptr;
        check(cupola_memory_allocate(device.ordinal(), bytes, stream, &out));
        return out;
    }
    std::size_t within(std::size_t bytes) const {
        if (bytes > size()) throw std::out_of_range("cupola: the copy exceeds the memory's size");
        return bytes;
    }
};

}  // namespace cupola

#endif  // CUPOLA_MEMORY_HPP
