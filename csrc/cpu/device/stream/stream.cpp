// csrc/cpu/device/stream/stream.cpp - queues, orders, runs and awaits a stream's work.
#include "cpu/device/stream/stream.hpp"

#include <algorithm>

#include "cpu/device/context/context.hpp"
#include "cpu/device/driver/driver.hpp"

namespace cupola::cpu {
namespace {

// The depth of recursion is limited: a waiting thread may run work of other streams, which may
// wait, too.
constexpr int deepest = 8;
thread_local int depth = 0;

// A thread's per-thread stream in each context.
struct ThreadStream {
    const Context* context;
    std::uint64_t generation;
    std::shared_ptr<Stream> stream;
};
thread_local std::vector<ThreadStream> thread_streams;

std::unique_ptr<Operation> waiting_for(Mark work) {
    auto operation = task([](CUresult) {});
    operation->waits.push_back(std::move(work));
    return operation;
}

}  // namespace

std::shared_ptr<Stream> per_thread_stream(const std::shared_ptr<Context>& context) {
    StreamSet& set = context->stream_set();
    std::uint64_t generation;
    {
        std::lock_guard lock(set.mutex);
        generation = set.generation;
    }
    for (auto& mine : thread_streams) {
        if (mine.context != context.get()) continue;
        if (mine.generation != generation) {
            mine.generation = generation;
            mine.stream = std::make_shared<Stream>(context, 0u, 0, Stream::Kind::per_thread);
            mine.stream->register_in_context();
        }
        return mine.stream;
    }
    auto stream = std::make_shared<Stream>(context, 0u, 0, Stream::Kind::per_thread);
    stream->register_in_context();
    thread_streams.push_back({context.get(), generation, stream});
    return stream;
}

Stream::Stream(std::shared_ptr<Context> context, unsigned flags, int priority, Kind kind)
    : context_(std::move(context)),
      flags_(flags),
      priority_(priority),
      id_(kind == Kind::legacy ? 1 : ++context_->driver().last_stream_id),
      kind_(kind) {}

Stream::~Stream() {
    while (first_) {
        Operation* next = first_->next;
        delete first_;
        first_ = next;
    }
}

// The legacy stream waits for all blocking streams, and they wait for it. Needs the context's
// submission lock, so that two threads cannot create a cycle of waits.
void Stream::order(Operation& operation) {
    if (kind_ == Kind::legacy) {
        for (auto& other : context_->streams()) {
            if (other.get() == this || !other->blocking()) continue;
            const std::uint64_t ticket = other->submitted();
            if (!other->done(ticket)) operation.waits.push_back({std::move(other), ticket});
        }
    } else {
        auto legacy = context_->legacy();
        const std::uint64_t ticket = legacy->submitted();
        if (!legacy->done(ticket)) operation.waits.push_back({std::move(legacy), ticket});
    }
}

std::uint64_t Stream::enqueue(std::unique_ptr<Operation> operation, bool wake) {
    std::unique_lock<std::mutex> submission;
    if (blocking()) {
        submission = std::unique_lock(context_->submission());
        order(*operation);
    }
    return enqueue(operation.release(), wake);
}

// A chain of work; only its first operation waits for the legacy stream.
std::uint64_t Stream::enqueue(Operation* chain, bool wake) {
    bool start = false;
    std::uint64_t ticket;
    {
        std::lock_guard lock(mutex_);
        ticket = submitted_.load(std::memory_order_relaxed);
        (last_ ? last_->next : first_) = chain;
        for (Operation* each = chain; each; each = each->next) {
            each->ticket = ++ticket;
            last_ = each;
        }
        submitted_.store(ticket);
        start = wake && !running_ && !attended_;
        if (start) attended_ = true;
    }
    if (start) call_executor();
    return ticket;
}

// The caller has set `attended_`, so only one thread calls an executor.
void Stream::call_executor() {
    const bool started = context_->driver().executors.start(shared_from_this());
    refused_.store(!started);
    if (started) return;
    std::lock_guard lock(mutex_);
    attended_ = false;
}

void Stream::retry() {
    if (__builtin_expect(!refused_.load(), 1)) return;
    {
        std::lock_guard lock(mutex_);
        if (running_ || attended_ || !first_) return;
        attended_ = true;
    }
    call_executor();
}

bool Stream::poll(std::uint64_t ticket) {
    if (done(ticket)) return true;
    retry();
    return false;
}

bool Stream::poll_all() {
    bool all = poll(submitted());
    if (kind_ == Kind::legacy)
        for (const auto& other : context_->streams())
            if (other->blocking() && !other->poll(other->submitted())) all = false;
    return all;
}

void Stream::wait_all() {
    if (kind_ == Kind::legacy)
        for (const auto& other : context_->streams())
            if (other->blocking()) other->wait(other->submitted());
    wait(submitted());
}

std::uint64_t Stream::submit(std::unique_ptr<Operation> operation) {
    return enqueue(std::move(operation), true);
}

std::uint64_t Stream::submit(std::vector<std::unique_ptr<Operation>> operations) {
    std::unique_lock<std::mutex> submission;
    if (blocking()) {
        submission = std::unique_lock(context_->submission());
        order(*operations.front());
    }
    // The queue owns them now.
    Operation* first = nullptr;
    for (std::size_t i = operations.size(); i-- > 0;) {
        Operation* const operation = operations[i].release();
        operation->next = first;
        first = operation;
    }
    return enqueue(first, true);
}

void Stream::perform(std::unique_ptr<Operation> operation) {
    wait(enqueue(std::move(operation), depth >= deepest));
}

void Stream::run(Operation* operation) {
    for (const Mark& mark : operation->waits) mark.stream->wait(mark.ticket);
    const CUresult status =
        !context_->alive() ? CUDA_ERROR_CONTEXT_IS_DESTROYED : context_->error();
    const std::uint64_t ticket = operation->ticket;
    if (operation->host || operation->aside) {
        operation->run(status);
    } else {
        const QuiesceGate::Pass pass(context_->driver().gate);
        operation->run(status);
    }
    // Destroys the work before it counts as done, so that memory and modules are already free.
    delete operation;
    completed_.store(ticket);
    if (waiters_.load()) {
        std::lock_guard lock(wait_mutex_);
        finished_.notify_all();
    }
}

// The running thread also handles work that was queued meanwhile.
void Stream::finish_turn() {
    bool start = false;
    {
        std::lock_guard lock(mutex_);
        running_ = false;
        start = first_ && !attended_;
        if (start) attended_ = true;
    }
    if (start) call_executor();
}

void Stream::attend() {
    Executors& executors = context_->driver().executors;
    for (;;) {
        Operation* batch = nullptr;
        {
            std::lock_guard lock(mutex_);
            if (!running_ && first_) {
                batch = first_;
                first_ = last_ = nullptr;
                running_ = true;
            }
        }
        if (batch) {
            while (batch) {
                Operation* next = batch->next;
                executors.checkpoint();
                run(batch);
                batch = next;
            }
            {
                std::lock_guard lock(mutex_);
                running_ = false;
            }
            Log::tell();  // a callback may wait for this stream
            continue;
        }
        // The next launch often follows at once, and then no thread must be woken.
        if (spin([this] { return !idle(); }, executors.linger())) {
            std::lock_guard lock(mutex_);
            if (!running_ && first_) continue;
        }
        std::lock_guard lock(mutex_);
        if (running_ || !first_) {
            attended_ = false;
            return;
        }
    }
}

// Runs the first operation if `ticket` needs it and no thread runs it. A host function runs here
// only if no thread could be started.
bool Stream::run_one(std::uint64_t ticket) {
    Operation* operation;
    {
        std::lock_guard lock(mutex_);
        operation = first_;
        if (running_ || !operation || operation->ticket > ticket) return false;
        if (operation->host && (attended_ || !refused_.load())) return false;
        first_ = operation->next;
        if (!first_) last_ = nullptr;
        running_ = true;
    }
    ++depth;
    run(operation);
    --depth;
    finish_turn();
    return true;
}

void Stream::wait(std::uint64_t ticket) {
    const auto linger = context_->driver().executors.linger();
    for (;;) {
        if (done(ticket)) return;
        if (DriverState::get() != CUDA_SUCCESS) return;
        if (depth < deepest && run_one(ticket)) continue;
        if (spin([&] { return done(ticket); }, linger)) return;
        std::unique_lock lock(wait_mutex_);
        ++waiters_;
        // The wait has a timeout, because work completes no more at process exit.
        if (!done(ticket)) finished_.wait_for(lock, std::chrono::milliseconds(100));
        --waiters_;
        lock.unlock();
        retry();
    }
}

void Stream::register_in_context() {
    StreamSet& set = context_->stream_set();
    Mark before;
    {
        std::lock_guard lock(set.mutex);
        auto& others = set.others;
        others.erase(std::remove_if(others.begin(), others.end(),
                                    [](const auto& weak) { return weak.expired(); }),
                     others.end());
        others.push_back(weak_from_this());
        if (set.before.stream && set.before.stream->done(set.before.ticket)) set.before = {};
        before = set.before;
    }
    if (before.stream) submit(waiting_for(std::move(before)));
}

void begin_behind(Context& context, Mark work) {
    StreamSet& set = context.stream_set();
    {
        std::lock_guard lock(set.mutex);
        // New streams wait for both.
        if (set.before.stream) work.stream->submit(waiting_for(set.before));
        work.ticket = work.stream->submitted();
        set.before = work;
    }
    for (const auto& stream : context.streams()) stream->submit(waiting_for(work));
}

void synchronize(Context& context) {
    for (auto& stream : context.streams()) stream->wait(stream->submitted());
}

}  // namespace cupola::cpu
