// csrc/runtime/pipeline/pipeline.hpp - processes host arrays in chunks, in slots of one or more
// devices.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "cupola/pipeline.h"
#include "runtime/context/event.hpp"
#include "runtime/memory/memory.hpp"
#include "runtime/module/kernel.hpp"
#include "runtime/pipeline/host_array.hpp"

namespace cupola {

// Thrown where the caller's function stops the pipeline.
struct Stopped {};

class Pipeline : public Object {
  public:
    Pipeline(const cupola_pipeline_array* arrays, std::size_t count, std::int64_t length);

    std::size_t add_slot(Stream& stream, cupola_memory* const* device,
                         cupola_memory* const* staging);
    void set_kernel(std::size_t slot, Kernel& kernel, const cupola_dimensions* dimensions,
                    const char* arguments, std::size_t count, const std::uint32_t* configs);

    void fill(std::size_t slot, std::int64_t chunk);
    void upload(std::size_t slot);
    void launch(std::size_t slot);
    void download(std::size_t slot);
    void drain(std::size_t slot);
    bool ready(std::size_t slot);
    void run();
    // Waits for running steps of other threads and refuses new ones.
    void finish(bool succeeded);

    void failed(std::int64_t& first, std::int64_t& last) const;

    std::int64_t chunks() const { return chunks_; }
    std::size_t slots() const;
    std::int64_t chunk(std::size_t slot) const;  // -1: none

    int (*call)(void*, std::size_t, std::int64_t) = nullptr;
    void* call_data = nullptr;
    int (*report)(void*, std::int64_t) = nullptr;
    void* report_data = nullptr;
    std::chrono::duration<double> interval{0};

  private:
    using Clock = std::chrono::steady_clock;

    struct Array {
        HostArray host;
        bool input, output;
    };
    struct Buffer {
        Ref<Memory> device, staging;
        char* staged() const { return reinterpret_cast<char*>(std::uintptr_t(staging->address)); }
    };
    struct LaunchConfig {
        cupola_dimensions dimensions;
        std::vector<char> arguments;
    };
    enum class Step { empty, filled, uploaded, launched, downloaded };
    struct Slot {
        Ref<Stream> stream;
        Ref<Event> done;
        Ref<Kernel> kernel;
        std::vector<Buffer> buffers;  // a buffer for each array
        std::vector<LaunchConfig> configs;
        std::vector<std::uint32_t> config_of;  // a configuration's number for each chunk
        std::atomic<std::int64_t> chunk{-1};
        std::uint64_t launched = 0;  // the flight's head when the chunk was queued
        std::atomic<Step> step{Step::empty};
        bool taken = false;  // a thread is in a step of the slot
    };
    class StepGuard;

    Slot& slot_at(std::size_t slot);  // with mutex_ held
    template <class Body>
    void step(std::size_t slot, Step before, const char* name, Body&& body, bool alone = true);
    // Notes the chunk of the failure in flight; only the first failure is kept.
    void note_failure(const Slot& slot, bool of_device) noexcept;
    std::int64_t rows_of(std::int64_t chunk) const;
    std::size_t bytes_of(const Array& array, std::int64_t chunk) const;
    void stage(Slot& slot, bool inward);
    void transfer(Slot& slot, bool inward);
    void count(std::int64_t chunk);

    std::vector<Array> arrays_;
    std::int64_t rows_ = 0, length_ = 1, chunks_ = 0;
    mutable std::mutex mutex_;           // guards the fields below
    std::deque<Slot> slots_;             // emptied at the end, after all StepGuards
    bool over_ = false, ended_ = false;  // the end has begun; all device work is done
    std::size_t under_way_ = 0;          // threads in a step
    std::condition_variable idle_;
    std::vector<bool> begun_;
    std::int64_t done_rows_ = 0, done_chunks_ = 0;
    Clock::time_point told_{};
    std::int64_t failed_first_ = -1, failed_last_ = -1;
};

inline Pipeline* unwrap(cupola_pipeline* p) { return reinterpret_cast<Pipeline*>(p); }
inline const Pipeline* unwrap(const cupola_pipeline* p) {
    return reinterpret_cast<const Pipeline*>(p);
}
inline cupola_pipeline* wrap(Pipeline* p) { return reinterpret_cast<cupola_pipeline*>(p); }

}  // namespace cupola
