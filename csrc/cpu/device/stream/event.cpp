// csrc/cpu/device/stream/event.cpp - records events and measures the time between them.
#include "cpu/device/stream/event.hpp"

#include <chrono>

#include "cpu/device/base/driver_state.hpp"
#include "cpu/device/context/context.hpp"
#include "cpu/device/stream/shared_event.hpp"
#include "cpu/device/stream/stream.hpp"

namespace cupola::cpu {
namespace {

// Whether to stop waiting for other processes: this process ends, or the context does.
bool over(const Context& context) {
    return DriverState::get() != CUDA_SUCCESS || !context.alive() ||
           context.error() != CUDA_SUCCESS;
}

// The awaited record can never complete, so later work must not run.
void lost(Context& context) {
    context.poison(CUDA_ERROR_EXTERNAL_DEVICE,
                   "a process has ended before an event was done that it had recorded");
}

}  // namespace

std::shared_ptr<Event::Record> Event::last() const {
    std::lock_guard lock(mutex_);
    return record_;
}

std::shared_ptr<Event::Record> Event::own_last() const {
    auto record = last();
    return record && shared_ && shared_->last() != record->number ? nullptr : record;
}

std::unique_ptr<Operation> Event::stamp(std::shared_ptr<Record> record) const {
    if (shared_) {
        record->number = shared_->record();
        auto operation =
            task([number = record->number, shared = shared_, context = context_](CUresult) {
                shared->wait(SharedEvent::before(number), [&] { return over(*context); });
                shared->complete(number);
            });
        operation->aside = true;
        return operation;
    }
    return task([record = std::move(record)](CUresult) {
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        record->nanoseconds.store(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count(),
                                  std::memory_order_release);
    });
}

void Event::set(std::shared_ptr<Record> record) {
    std::lock_guard lock(mutex_);
    record_ = std::move(record);
    captured_ = {};
}

Event::Captured Event::captured() const {
    std::lock_guard lock(mutex_);
    return captured_;
}

void Event::set_captured(Captured captured) {
    std::lock_guard lock(mutex_);
    captured_ = std::move(captured);
}

void Event::record(Stream& stream) {
    require(stream.context() == context(), CUDA_ERROR_INVALID_HANDLE);
    auto record = std::make_shared<Record>();
    record->mark.stream = stream.shared_from_this();
    // The lock is held during submission: if two threads record one event, the record that is later
    // in the stream must be the one that is kept.
    std::lock_guard lock(mutex_);
    record->mark.ticket = stream.submit(stamp(record));
    record_ = std::move(record);
    captured_ = {};
}

bool Event::done() const {
    if (const auto record = own_last()) return record->mark.stream->poll(record->mark.ticket);
    if (!shared_) return true;
    const auto state = shared_->state(shared_->last());
    if (state == SharedEvent::State::lost) lost(*context_);
    return state != SharedEvent::State::pending;
}

void Event::wait() const {
    if (const auto record = own_last()) return record->mark.stream->wait(record->mark.ticket);
    if (!shared_) return;
    const auto state = shared_->wait(shared_->last(), [this] { return over(*context_); });
    if (state == SharedEvent::State::lost) lost(*context_);
}

std::unique_ptr<Operation> Event::wait_operation(const Stream& stream) const {
    if (const auto record = own_last()) {
        const Mark& mark = record->mark;
        if (mark.stream.get() == &stream || mark.stream->done(mark.ticket)) return nullptr;
        auto operation = task([](CUresult) {});
        operation->waits.push_back(mark);
        return operation;
    }
    if (!shared_) return nullptr;
    const std::uint64_t number = shared_->last();
    if (shared_->state(number) == SharedEvent::State::done) return nullptr;
    const auto context = stream.context_pointer();
    auto operation = task([number, context, shared = shared_](CUresult status) {
        if (status != CUDA_SUCCESS) return;
        const auto state = shared->wait(number, [&] { return over(*context); });
        if (state == SharedEvent::State::lost) lost(*context);
    });
    operation->aside = true;
    return operation;
}

CUresult Event::elapsed(float* milliseconds, const Event& start, const Event& end) {
    require(start.timed() && end.timed(), CUDA_ERROR_INVALID_HANDLE);
    require(start.context() == end.context(), CUDA_ERROR_INVALID_HANDLE);
    const auto first = start.last(), second = end.last();
    require(first && second, CUDA_ERROR_INVALID_HANDLE);
    if (!first->mark.stream->done(first->mark.ticket) ||
        !second->mark.stream->done(second->mark.ticket))
        return CUDA_ERROR_NOT_READY;
    const std::int64_t nanoseconds = second->nanoseconds.load(std::memory_order_acquire) -
                                     first->nanoseconds.load(std::memory_order_acquire);
    *milliseconds = static_cast<float>(static_cast<double>(nanoseconds) * 1e-6);
    return CUDA_SUCCESS;
}

}  // namespace cupola::cpu
