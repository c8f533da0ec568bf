// csrc/cpu/stream.hpp - a stream: a queue of work which runs in order, beside other streams.
//
// Work is numbered by tickets. "Until ticket t" is all there is to waiting: synchronisation,
// events, waits between streams and the legacy stream's implicit order are marks of a stream and a
// ticket.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "cpu/attribute_store.hpp"
#include "cpu/condition.hpp"
#include "cpu/operation.hpp"

namespace cupola::cpu {

class Capture;
class Context;
class GreenContext;

class Stream : public std::enable_shared_from_this<Stream> {
  public:
    enum class Kind { created, legacy, per_thread };
    static constexpr int greatest_priority = -5;  // the least is 0

    Stream(std::shared_ptr<Context> context, unsigned flags, int priority, Kind kind);
    ~Stream();

    CUstream handle() { return reinterpret_cast<CUstream>(this); }
    const Context* context() const { return context_.get(); }
    const std::shared_ptr<Context>& context_pointer() const { return context_; }
    unsigned flags() const { return flags_; }
    int priority() const { return priority_; }
    std::uint64_t id() const { return id_; }
    Kind kind() const { return kind_; }
    // Takes part in the legacy stream's order.
    bool blocking() const { return !(flags_ & CU_STREAM_NON_BLOCKING); }

    // Puts work at the end and returns its ticket at once.
    std::uint64_t submit(std::unique_ptr<Operation> operation);
    // Puts several pieces of work at the end, with nobody else's between; the last one's ticket.
    std::uint64_t submit(std::vector<std::unique_ptr<Operation>> operations);
    // Puts work at the end and returns when it is done, most often by having run it here.
    void perform(std::unique_ptr<Operation> operation);

    std::uint64_t submitted() const { return submitted_.load(); }
    bool done(std::uint64_t ticket) const { return completed_.load() >= ticket; }
    bool idle() const { return done(submitted()); }
    // As `done`, for a program that polls: it also begins work for which no thread could be had.
    bool poll(std::uint64_t ticket);
    // Returns when `ticket` is done, or when it never will be because the process ends. Work that
    // nobody has begun is done here: sooner than a sleeping thread could.
    void wait(std::uint64_t ticket);

    // Called by an executor: runs what is queued, and what comes soon after.
    void attend();

    // The stream a handle means in the current context: null and CU_STREAM_LEGACY, the thread's
    // own, or a created one. Checks the stream's context.
    static std::shared_ptr<Stream> from(CUstream handle);
    static CUstream per_thread(CUstream handle) { return handle ? handle : CU_STREAM_PER_THREAD; }

    // What is put on the stream becomes part of; null: it is queued. With Graph::mutex.
    std::shared_ptr<Capture> capture;
    // That the stream was made for; null for most.
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

    // Of the queue and the flags. Queued work is always begun: somebody runs (and looks again when
    // done), or an executor attends, or a thread is about to wait for it. Where the system refuses
    // a thread, work stays queued until a thread waits for it, polls, or submits more.
    std::mutex mutex_;
    Operation* first_ = nullptr;
    Operation* last_ = nullptr;
    bool running_ = false;   // a thread, whichever, runs this stream's work
    bool attended_ = false;  // an executor has been given this stream and has not left it
    std::atomic<bool> refused_{false};  // the system has refused a thread for an executor
    std::atomic<std::uint64_t> submitted_{0};
    std::atomic<std::uint64_t> completed_{0};

    std::atomic<int> waiters_{0};
    std::mutex wait_mutex_;
    Condition finished_;
};

}  // namespace cupola::cpu
