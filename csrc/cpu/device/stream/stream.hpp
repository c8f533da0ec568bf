// csrc/cpu/device/stream/stream.hpp - a stream: a queue of work that runs in order, concurrently
// with other streams.
//
// Work is numbered by tickets. Every wait is for a stream and a ticket: synchronisation, events,
// waits between streams, and the implicit order of the legacy stream.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "cpu/base/condition.hpp"
#include "cpu/device/base/attribute_store.hpp"
#include "cpu/device/base/executor.hpp"
#include "cpu/device/base/operation.hpp"

namespace cupola::cpu {

class Capture;
class Context;
class GreenContext;

class Stream final : public ExecutorTask, public std::enable_shared_from_this<Stream> {
  public:
    enum class Kind { created, legacy, per_thread };
    static constexpr int greatest_priority = -5;  // the least priority is 0

    Stream(std::shared_ptr<Context> context, unsigned flags, int priority, Kind kind);
    ~Stream() override;

    CUstream handle() { return reinterpret_cast<CUstream>(this); }
    const Context* context() const { return context_.get(); }
    const std::shared_ptr<Context>& context_pointer() const { return context_; }
    unsigned flags() const { return flags_; }
    int priority() const { return priority_; }
    std::uint64_t id() const { return id_; }
    Kind kind() const { return kind_; }
    // Whether the stream synchronises with the legacy stream.
    bool blocking() const { return !(flags_ & CU_STREAM_NON_BLOCKING); }

    // Appends work and returns its ticket at once.
    std::uint64_t submit(std::unique_ptr<Operation> operation);
    // Appends several pieces of work without other work in between; returns the last ticket.
    std::uint64_t submit(std::vector<std::unique_ptr<Operation>> operations);
    // Appends work and returns when it is done; usually this thread runs it.
    void perform(std::unique_ptr<Operation> operation);

    std::uint64_t submitted() const { return submitted_.load(); }
    bool done(std::uint64_t ticket) const { return completed_.load() >= ticket; }
    bool idle() const { return done(submitted()); }
    // Like `done`, for a program that polls: it also starts work that had no thread.
    bool poll(std::uint64_t ticket);
    // Returns when `ticket` is done, or at process exit. Runs work that has not started: that is
    // faster than waking a thread.
    void wait(std::uint64_t ticket);

    // As `done`, for all work of the stream. The work of the legacy stream includes the work of all
    // blocking streams.
    bool poll_all();
    void wait_all();

    // Adds the stream to the streams of its context. The stream waits for the pending waits of that
    // context.
    void register_in_context();

    // Called by an executor: runs queued work, and work that is submitted soon after.
    void attend() override;

    static CUstream per_thread(CUstream handle) { return handle ? handle : CU_STREAM_PER_THREAD; }

    // The capture that receives submitted work; null if the stream does not capture. Guarded by
    // Driver::graph_mutex.
    std::shared_ptr<Capture> capture;
    // The green context of the stream; usually null.
    std::shared_ptr<const GreenContext> green;
    AttributeStore attributes;

  private:
    std::uint64_t enqueue(std::unique_ptr<Operation> operation, bool wake);
    std::uint64_t enqueue(Operation* first, bool wake);
    void order(Operation& operation);
    void run(Operation* operation);
    bool run_one(std::uint64_t ticket);
    void finish_turn();
    void call_executor();
    void retry();

    const std::shared_ptr<Context> context_;
    const unsigned flags_;
    const int priority_;
    const std::uint64_t id_;
    const Kind kind_;

    // Guards the queue and the flags. Queued work always starts: a thread runs the stream and
    // checks the queue again, or an executor attends, or a thread waits for the work. If no thread
    // can be started, work stays queued until a thread waits, polls or submits more.
    std::mutex mutex_;
    Operation* first_ = nullptr;
    Operation* last_ = nullptr;
    bool running_ = false;              // some thread runs this stream's work
    bool attended_ = false;             // an executor has this stream
    std::atomic<bool> refused_{false};  // no thread could be started for an executor
    std::atomic<std::uint64_t> submitted_{0};
    std::atomic<std::uint64_t> completed_{0};

    std::atomic<int> waiters_{0};
    std::mutex wait_mutex_;
    Condition finished_;
};

// The per-thread stream of the calling thread.
std::shared_ptr<Stream> per_thread_stream(const std::shared_ptr<Context>& context);
// All current and future streams of the context wait for this work, which is in an internal stream.
void begin_behind(Context& context, Mark work);
// Waits for all work submitted to any stream of the context before the call.
void synchronize(Context& context);

}  // namespace cupola::cpu
