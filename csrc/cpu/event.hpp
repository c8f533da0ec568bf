// csrc/cpu/event.hpp - an event: a mark in a stream, and when it was passed.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "cpu/operation.hpp"

namespace cupola::cpu {

class Capture;
class Context;
class SharedEvent;
struct Node;

class Event {
  public:
    // `shared`: what other processes see of it; null where none does.
    Event(std::shared_ptr<Context> context, unsigned flags,
          std::shared_ptr<SharedEvent> shared = nullptr)
        : context_(std::move(context)), flags_(flags), shared_(std::move(shared)) {}

    // INVALID_HANDLE for null; any other that is not alive is taken for one whose context has
    // ended, as NVIDIA's driver does.
    static std::shared_ptr<Event> from(CUevent handle);

    CUevent handle() { return reinterpret_cast<CUevent>(this); }
    const Context* context() const { return context_.get(); }
    bool timed() const { return !(flags_ & CU_EVENT_DISABLE_TIMING); }
    const std::shared_ptr<SharedEvent>& shared() const { return shared_; }

    void record(Stream& stream);
    // True where it was never recorded, as on hardware.
    bool done() const;
    void wait() const;
    // What makes a stream wait for it; null where there is nothing to wait for.
    std::unique_ptr<Operation> wait_operation(const Stream& stream) const;

    // Of one record call: recording again must not move what was already waited for.
    struct Record {
        Mark mark;
        std::atomic<std::int64_t> nanoseconds{0};
        std::uint64_t number = 0;  // among those of all processes
    };
    // The work that takes the record's time, and the record as the last one.
    std::unique_ptr<Operation> stamp(std::shared_ptr<Record> record) const;
    void set(std::shared_ptr<Record> record);

    // Where it was last recorded in a capture: it has no time, and stands for a place in a graph.
    struct Captured {
        std::shared_ptr<Capture> capture;
        std::vector<Node*> after;
    };
    Captured captured() const;
    void set_captured(Captured captured);
    void require_uncaptured() const;

    // Milliseconds between two recorded events.
    static CUresult elapsed(float* milliseconds, const Event& start, const Event& end);

  private:
    std::shared_ptr<Record> last() const;
    // The last record where this process made it, and nobody else's came after it.
    std::shared_ptr<Record> own_last() const;

    const std::shared_ptr<Context> context_;
    const unsigned flags_;
    const std::shared_ptr<SharedEvent> shared_;
    mutable std::mutex mutex_;
    std::shared_ptr<Record> record_;
    Captured captured_;
};

}  // namespace cupola::cpu
