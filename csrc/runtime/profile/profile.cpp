// csrc/runtime/profile/profile.cpp - records calls, and finds the times of their device work.
#include "runtime/profile/profile.hpp"

#include <memory>

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <limits>
#include <optional>
#include <unordered_map>

#include "runtime/lifetime/capture_scope.hpp"
#include "runtime/profile/range.hpp"

namespace cupola {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
// The most records with unread times: each has two events.
constexpr std::size_t max_pending = 4096;
// The driver's elapsed times are floats, in milliseconds. A new base event is recorded after this
// time, before fractions of a microsecond are lost.
constexpr float renewal = 4000;

std::int64_t now() noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// The events of one context, and the host time of its base event.
struct Timer {
    std::vector<CUevent> spare;
    CUevent base = nullptr;
    double base_time = 0;  // ns
};

struct Recorder {
    std::mutex mutex;
    std::deque<Record> records;  // [0] has number `first`
    std::uint64_t first = 0;
    std::size_t known = 0;  // number of operations at the front whose times are known
    int profiles = 0, ranges = 0, stopping = 0;
    std::unordered_map<Context*, Timer> timers;
};

// Never destroyed: threads may record while the process exits.
Recorder& recorder() {
    static auto* const one = new Recorder;
    return *one;
}

std::atomic<bool> ranges_wanted{false};

CUevent take_event(const Driver& d, Timer& timer) noexcept {
    CUevent event = nullptr;
    if (!timer.spare.empty()) {
        event = timer.spare.back();
        timer.spare.pop_back();
    } else if (d.cuEventCreate(&event, CU_EVENT_DEFAULT) != CUDA_SUCCESS) {
        return nullptr;
    }
    return event;
}

// Finds the host time at which the base event is reached: between two close readings of the clock.
void align(const Context& context, Timer& timer) noexcept {
    const Driver& d = context.driver;
    const RelaxedCapture relaxed(context.driver, RelaxedCapture::any_library);
    CUstream stream = nullptr;
    if (d.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0) != CUDA_SUCCESS) return;
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    for (int i = 0; i < 5; ++i) {
        CUevent event = take_event(d, timer);
        if (!event) break;
        const std::int64_t before = now();
        const bool reached = d.cuEventRecord(event, stream) == CUDA_SUCCESS &&
                             d.cuEventSynchronize(event) == CUDA_SUCCESS;
        const std::int64_t taken = now() - before;
        if (reached && taken < best) {
            best = taken;
            timer.base_time = static_cast<double>(before) + static_cast<double>(best) / 2;
            std::swap(event, timer.base);
        }
        if (event) timer.spare.push_back(event);
    }
    d.cuStreamDestroy(stream);
}

// Reads the times of a record whose events were reached, or failed.
void find_times(const Driver& d, Record& record, Timer& timer) noexcept {
    float from_base = 0, taken = 0;
    CUevent first = std::exchange(record.first, nullptr);
    CUevent last = std::exchange(record.last, nullptr);
    if (timer.base && d.cuEventElapsedTime(&from_base, timer.base, first) == CUDA_SUCCESS &&
        d.cuEventElapsedTime(&taken, first, last) == CUDA_SUCCESS) {
        record.begin = timer.base_time + static_cast<double>(from_base) * 1e6;
        record.end = record.begin + static_cast<double>(taken) * 1e6;
        if (from_base > renewal) {
            timer.base_time = record.begin;
            std::swap(timer.base, first);
        }
    }
    timer.spare.push_back(first);
    timer.spare.push_back(last);
}

// Returns a record's events for reuse. The times of the record stay unknown.
void forget_events(Recorder& r, Record& record) {
    for (CUevent* event : {&record.first, &record.last})
        if (*event) r.timers[record.context].spare.push_back(std::exchange(*event, nullptr));
}

// Reads the times of finished records, and of all before a number, which the caller waited for.
void read_times(Recorder& r, std::uint64_t all_before) noexcept {
    for (; r.known < r.records.size(); ++r.known) {
        Record& record = r.records[r.known];
        if (!record.last) continue;
        try {
            const ContextScope current(*record.context);
            const RelaxedCapture relaxed(record.context->driver, RelaxedCapture::any_library);
            const Driver& d = record.context->driver;
            if (r.first + r.known >= all_before &&
                d.cuEventQuery(record.last) == CUDA_ERROR_NOT_READY)
                return;
            find_times(d, record, r.timers[record.context]);
        } catch (...) {  // the context is destroyed: the times stay unknown
            record.first = record.last = nullptr;
        }
    }
}

}  // namespace

std::atomic<int> Span::active{0};

void Span::begin(int kind, const char* name, const Stream* stream, std::uint64_t bytes,
                 const cupola_dimensions* dimensions) noexcept {
    try {
        auto record = std::make_unique<Record>();
        record->kind = kind;
        record->name = name;
        record->bytes = bytes;
        record->thread = static_cast<std::uint64_t>(syscall(SYS_gettid));
        record->begin = record->end = unknown;
        if (dimensions) record->dimensions = *dimensions;
        if (stream) {
            record->context = &stream->context;
            record->stream = reinterpret_cast<std::uintptr_t>(stream->handle);
            stream_ = stream->handle;
        }
        std::optional<ContextScope> current;
        if (stream) current.emplace(stream->context);
        if (stream && !stream->flight.capturing()) {
            Recorder& r = recorder();
            std::lock_guard<std::mutex> lock(r.mutex);
            Timer& timer = r.timers[record->context];
            if (!timer.base) align(stream->context, timer);
            const DriverLink& driver = stream->context.driver;
            const RelaxedCapture relaxed(driver, RelaxedCapture::any_library);
            record->first = take_event(driver, timer);
            record->last = take_event(driver, timer);
            if (!record->first || !record->last) forget_events(r, *record);
        }
        exceptions_ = std::uncaught_exceptions();
        ranged_ = ranges_wanted.load(std::memory_order_relaxed);
        if (ranged_) begin_range(name);
        // Read the clock before the event, which may be reached immediately: work must not seem to
        // begin before its call.
        record->call_begin = now();
        if (record->first) stream->context.driver->cuEventRecord(record->first, stream_);
        record_ = record.release();
    } catch (...) {  // out of memory: this call is not recorded
    }
}

void Span::end() noexcept {
    const std::unique_ptr<Record> record(std::exchange(record_, nullptr));
    record->call_end = now();
    if (ranged_) end_range();
    const bool failed = std::uncaught_exceptions() > exceptions_;
    try {
        bool timed = false;
        if (record->last && !failed) {
            const ContextScope current(*record->context);
            timed = record->context->driver->cuEventRecord(record->last, stream_) == CUDA_SUCCESS;
        }
        Recorder& r = recorder();
        std::lock_guard<std::mutex> lock(r.mutex);
        if (!timed || r.profiles == 0) forget_events(r, *record);
        if (failed || r.profiles == 0) return;
        r.records.push_back(*record);
        if (!r.stopping && r.records.size() - r.known > max_pending) read_times(r, 0);
    } catch (...) {  // no driver or memory: this call is not recorded
    }
}

Profile::Profile(bool ranges) : ranges_(ranges) {
    require_drivers();
    if (ranges) require_ranges();
    Recorder& r = recorder();
    std::lock_guard<std::mutex> lock(r.mutex);
    if (r.profiles++ == 0) instrument(Driver::profiled, true);
    r.ranges += ranges;
    ranges_wanted = r.ranges > 0;
    Span::active = r.profiles;
    first_ = r.first + r.records.size();
    started = now();
}

Profile::~Profile() {
    if (running_) leave();
}

void Profile::leave() noexcept {
    Recorder& r = recorder();
    std::lock_guard<std::mutex> lock(r.mutex);
    running_ = false;
    r.ranges -= ranges_;
    ranges_wanted = r.ranges > 0;
    Span::active = --r.profiles;
    if (r.profiles > 0) return;
    instrument(Driver::profiled, false);
    for (Record& record : r.records) forget_events(r, record);
    r.first += r.records.size();
    r.records.clear();
    r.known = 0;
    try {  // clocks drift: the next profile aligns them again
        for (auto& [_, timer] : r.timers)
            if (timer.base) timer.spare.push_back(std::exchange(timer.base, nullptr));
    } catch (const std::bad_alloc&) {
    }
}

void Profile::stop() {
    if (!running_) return;
    require_drivers();
    Recorder& r = recorder();
    std::vector<std::pair<Context*, CUevent>> awaited;
    std::uint64_t last = 0;
    {
        std::lock_guard<std::mutex> lock(r.mutex);
        ++r.stopping;  // from now on, no event is reused
        last = r.first + r.records.size();
        for (std::size_t i = r.known; i < r.records.size(); ++i)
            if (r.records[i].last) awaited.emplace_back(r.records[i].context, r.records[i].last);
    }
    // Wait without the lock: the work may need another thread to queue something.
    for (const auto& [context, event] : awaited) try {
            const ContextScope current(*context);
            const RelaxedCapture relaxed(context->driver, RelaxedCapture::any_library);
            context->driver->cuEventSynchronize(event);
        } catch (const Error&) {  // the times stay unknown
        }
    {
        std::lock_guard<std::mutex> lock(r.mutex);
        --r.stopping;
        read_times(r, last);
        for (std::uint64_t i = std::max(first_, r.first); i < last; ++i) {
            const Record& record = r.records[i - r.first];
            if (record.call_begin >= started) records.push_back(record);
        }
    }
    leave();
    // Work that seems to begin before its call shows the clocks' difference.
    std::unordered_map<Context*, double> early;
    for (const Record& record : records)
        if (record.context && !std::isnan(record.begin))
            early[record.context] = std::max(early[record.context],
                                             static_cast<double>(record.call_begin) - record.begin);
    for (Record& record : records)
        if (record.context) {
            record.begin += early[record.context];
            record.end += early[record.context];
        }
}

}  // namespace cupola
