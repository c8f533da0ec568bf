// csrc/runtime/context/flight.cpp - tracks launches in flight and free space in the queue.
#include "runtime/context/flight.hpp"

#include <algorithm>
#include <deque>
#include <unordered_set>
#include <vector>

#include "runtime/base/intern.hpp"
#include "runtime/context/context.hpp"
#include "runtime/lifetime/capture_scope.hpp"

namespace cupola {
namespace {

// A driver's queue holds about 1,000 launches; the next one waits. An event (the mark) is recorded
// after each `batch` launches. The next batch starts only when the mark was reached, so at most two
// batches are queued.
constexpr int batch = 256;
// Launches that may wait between two queries of the mark. A stream gets its mark only after this
// number of launches, because many streams have only a few.
constexpr int query_interval = 16;

struct Gone {
    const Context* context;
    std::string lines;
};

// Never destroyed: streams may be released while the process exits.
struct Registry {
    std::mutex mutex;
    std::unordered_set<Flight*> flights;
    std::deque<Gone> gone;  // launches of streams that were released without a wait
};

Registry& registry() {
    static auto* const one = [] {
        report_launches = Flight::report;
        return new Registry;
    }();
    return *one;
}

constexpr std::size_t max_gone = 8;

}  // namespace

thread_local const char* Flight::origin = nullptr;
std::atomic<int> Flight::watched{0};

void Flight::set_origin(const char* line) {
    origin = line ? intern(std::string(", launched at ") + line) : nullptr;
    watched.fetch_or(traced);
}

Flight::Flight(Context& context, CUstream stream) : context_(context), stream_(stream), credit_(0) {
    Registry& r = registry();
    std::lock_guard<std::mutex> lock(r.mutex);
    r.flights.insert(this);
}

Flight::~Flight() {
    const Driver* d = context_.driver.alive();
    if (!d) return;  // in a forked child the mutex may stay locked, and no report is needed
    if (mark_) {
        const RelaxedCapture relaxed(context_.driver, RelaxedCapture::any_library);
        d->cuEventDestroy(mark_);
    }
    Registry& r = registry();
    std::lock_guard<std::mutex> lock(r.mutex);
    r.flights.erase(this);
    try {
        Gone gone{&context_, {}};
        list(gone.lines);
        if (gone.lines.empty()) return;
        r.gone.push_back(std::move(gone));
        if (r.gone.size() > max_gone) r.gone.pop_front();
    } catch (...) {  // out of memory: the report lacks these launches
    }
}

// Captured launches do not run yet, so they are not recorded.
void Flight::add_watched(const char* title, const cupola_dimensions& d,
                         const char* nulls) noexcept {
    const int now = watched.load(std::memory_order_relaxed);
    if (now >= capture && capturing()) return;
    const char* note = now & traced ? origin : nullptr;
    if (nulls) try {
            note = note ? intern(std::string(nulls) + note) : nulls;
        } catch (const std::bad_alloc&) {  // the report lacks the null arguments
        }
    put(title, note, d);
}

void Flight::done(std::uint64_t head) noexcept {
    std::uint64_t known = done_.load(std::memory_order_relaxed);
    while (known < head && !done_.compare_exchange_weak(known, head, std::memory_order_relaxed)) {
    }
}

void Flight::all_done(const Context& context) noexcept {
    Registry& r = registry();
    std::lock_guard<std::mutex> lock(r.mutex);
    for (Flight* flight : r.flights)
        if (&flight->context_ == &context) flight->done(flight->head());
    r.gone.erase(std::remove_if(r.gone.begin(), r.gone.end(),
                                [&](const Gone& gone) { return gone.context == &context; }),
                 r.gone.end());
}

bool Flight::refill_credit(int credit, int places) {
    if (-credit % query_interval >= places)
        return false;  // query once in `query_interval` launches
    std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (!lock || !query_mark()) return false;
    credit_.store(batch - places, std::memory_order_relaxed);
    return true;
}

bool Flight::capturing() const {
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult code = context_.driver->cuStreamIsCapturing(stream_, &capture);
    // The legacy default stream reports a capture of another stream as this error.
    return code == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
           (code == CUDA_SUCCESS && capture != CU_STREAM_CAPTURE_STATUS_NONE);
}

bool Flight::query_mark() {
    const Driver& d = context_.driver;
    const ContextScope current(context_);
    if (capturing()) return true;  // captured work is not queued
    const RelaxedCapture relaxed(context_.driver, RelaxedCapture::any_library);
    if (!mark_) {
        if (d.cuEventCreate(&mark_, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) return false;
    } else if (d.cuEventQuery(mark_) == CUDA_SUCCESS) {
        done(marked_);
    } else {
        return false;
    }
    const std::uint64_t now = head();
    if (d.cuEventRecord(mark_, stream_) != CUDA_SUCCESS) return false;
    marked_ = now;
    return true;
}

void Flight::list(std::string& lines) const {
    const std::uint64_t head = this->head();
    std::uint64_t at = done_.load(std::memory_order_relaxed);
    if (head > at + kept) {
        lines += "\n    " + std::to_string(head - at - kept) + " launches before these";
        at = head - kept;
    }
    std::vector<std::pair<std::string, unsigned>> listed;  // launches and how often, latest last
    for (; at < head; ++at) {
        const Entry& e = entries_[at % kept];
        const char* title = e.title;
        const char* note = e.note;
        if (!title) continue;
        std::string line = title;
        const std::uint64_t shape[3] = {e.shape[0], e.shape[1], e.shape[2]};
        cupola_dimensions d{};
        std::memcpy(&d, shape, sizeof shape);
        if (d.grid[0]) line += ", grid " + triple(d.grid) + ", block " + triple(d.block);
        if (note) line += note;
        const auto same = std::find_if(listed.begin(), listed.end(),
                                       [&](const auto& one) { return one.first == line; });
        if (same == listed.end())
            listed.emplace_back(std::move(line), 1);
        else
            ++same->second, std::rotate(same, same + 1, listed.end());
    }
    for (const auto& [line, times] : listed)
        lines += "\n    " + line + (times > 1 ? ", " + std::to_string(times) + " times" : "");
}

std::string Flight::report(const Driver& driver) {
    Registry& r = registry();
    std::lock_guard<std::mutex> lock(r.mutex);
    std::string lines;
    for (const Gone& gone : r.gone)
        if (gone.context->driver.alive() == &driver) lines += gone.lines;
    for (const Flight* flight : r.flights)
        if (flight->context_.driver.alive() == &driver) flight->list(lines);
    if (lines.empty()) return lines;
    return "\n  launches that were not waited for, on each stream the latest last:" + lines;
}

}  // namespace cupola
