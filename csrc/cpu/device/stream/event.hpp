// csrc/cpu/device/stream/event.hpp - an event: a mark in a stream and the time when the stream
// passed it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "cpu/device/base/operation.hpp"

namespace cupola::cpu {

class Capture;
class Context;
class SharedEvent;
struct Node;

class Event {
  public:
    // `shared` is the state for other processes; null if the event is not shared.
    Event(std::shared_ptr<Context> context, unsigned flags,
          std::shared_ptr<SharedEvent> shared = nullptr)
        : context_(std::move(context)), flags_(flags), shared_(std::move(shared)) {}

    CUevent handle() { return reinterpret_cast<CUevent>(this); }
    const Context* context() const { return context_.get(); }
    bool timed() const { return !(flags_ & CU_EVENT_DISABLE_TIMING); }
    const std::shared_ptr<SharedEvent>& shared() const { return shared_; }

    void record(Stream& stream);
    // True if the event was never recorded, as on hardware.
    bool done() const;
    void wait() const;
    // The operation that makes a stream wait for the event; null if nothing is pending.
    std::unique_ptr<Operation> wait_operation(const Stream& stream) const;

    // The state of one record call: a later call must not change what earlier waits refer to.
    struct Record {
        Mark mark;
        std::atomic<std::int64_t> nanoseconds{0};
        std::uint64_t number = 0;  // counted over all processes
    };
    // `stamp` returns work that stores the record's time; `set` makes the record the last one.
    std::unique_ptr<Operation> stamp(std::shared_ptr<Record> record) const;
    void set(std::shared_ptr<Record> record);

    // The capture in which the event was last recorded. Such a record has no time; it is a place in
    // a graph.
    struct Captured {
        std::shared_ptr<Capture> capture;
        std::vector<Node*> after;
    };
    Captured captured() const;
    void set_captured(Captured captured);

    // Milliseconds between two recorded events.
    static CUresult elapsed(float* milliseconds, const Event& start, const Event& end);

  private:
    std::shared_ptr<Record> last() const;
    // The last record, if this process made it and no other process recorded later.
    std::shared_ptr<Record> own_last() const;

    const std::shared_ptr<Context> context_;
    const unsigned flags_;
    const std::shared_ptr<SharedEvent> shared_;
    mutable std::mutex mutex_;
    std::shared_ptr<Record> record_;
    Captured captured_;
};

}  // namespace cupola::cpu
