// csrc/runtime/work/work_record.hpp - the device work of one call, as data.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/context/work_observer.hpp"
#include "runtime/memory/memory.hpp"
#include "runtime/module/kernel.hpp"

namespace cupola {

// Launches, fills and copies on one stream, with the addresses that they use. The memory that the
// call allocates stays allocated as long as the record, so each allocation has its own address.
class WorkRecord : public Object, private WorkObserver {
  public:
    struct Step {
        enum Kind { launch, fill, copy } kind;
        Ref<Kernel> kernel;
        cupola_dimensions dimensions;
        std::uint32_t value;
        int width;
        std::size_t count;                 // elements of a fill, bytes of a copy
        std::vector<std::uint64_t> words;  // the arguments; the addresses of a fill or a copy
    };

    // With `skip`, work is recorded and not sent to the device, and no memory begins where memory
    // of the record ends.
    WorkRecord(Stream& stream, bool skip) : stream_(Ref<Stream>::share(&stream)), skip_(skip) {}
    ~WorkRecord() override { stop(); }

    // Records this thread's work until stop(). False where the thread's work is observed already,
    // or each launch takes a slow path, or the stream is captured.
    bool start();
    void stop() noexcept;

    bool usable() const noexcept { return usable_; }
    const std::vector<Step>& steps() const noexcept { return steps_; }
    const std::vector<Ref<Memory>>& allocations() const noexcept { return allocations_; }

  private:
    bool launch(Kernel& kernel, const cupola_dimensions& dimensions,
                const cupola_attributes* attributes, void* const* pointers,
                Stream& stream) override;
    bool fill(std::uint64_t to, std::uint32_t value, int width, std::size_t count,
              Stream& stream) override;
    bool copy(std::uint64_t to, std::uint64_t from, std::size_t bytes, Stream& stream) override;
    void allocated(Memory& memory) override;
    bool separates() const noexcept override { return skip_; }
    void refuse() noexcept override { usable_ = false; }
    bool noted(const Stream& stream) noexcept;

    Ref<Stream> stream_;
    bool skip_, usable_ = true, started_ = false;
    std::vector<Step> steps_;
    std::vector<Ref<Memory>> allocations_;
};

}  // namespace cupola
