// csrc/cpu/event.cpp - recording events and measuring between them.
#include "cpu/event.hpp"

#include <chrono>

#include "cpu/capture.hpp"
#include "cpu/context.hpp"
#include "cpu/driver.hpp"
#include "cpu/stream.hpp"

namespace cupola::cpu {

std::shared_ptr<Event::Record> Event::last() const {
    std::lock_guard lock(mutex_);
    return record_;
}

std::unique_ptr<Operation> Event::stamp(std::shared_ptr<Record> record) {
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

void Event::require_uncaptured() const {
    if (const auto capture = captured().capture) capture->refuse_event();
}

void Event::record(Stream& stream) {
    require(stream.context() == context(), CUDA_ERROR_INVALID_HANDLE);
    auto record = std::make_shared<Record>();
    record->mark.stream = stream.shared_from_this();
    // The lock is held over the submission: of two threads that record one event, the one whose
    // mark comes later in the stream must also be the one that is kept.
    std::lock_guard lock(mutex_);
    record->mark.ticket = stream.submit(stamp(record));
    record_ = std::move(record);
    captured_ = {};
}

bool Event::done() const {
    const auto record = last();
    return !record || record->mark.stream->done(record->mark.ticket);
}

void Event::wait() const {
    if (const auto record = last()) record->mark.stream->wait(record->mark.ticket);
}

Mark Event::mark() const {
    const auto record = last();
    return record ? record->mark : Mark{};
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
