// csrc/cpu/device/base/log.cpp - stores lines and calls the callbacks.
#include "cpu/device/base/log.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <utility>
#include <vector>

#include "cpu/device/base/failure.hpp"

namespace cupola::cpu {
namespace {

constexpr char left_out[] = "[older lines are left out]\n";

// [time][thread][CUDA][E] text, in one line
std::string log_line(const std::string& text) {
    std::timespec now{};
    std::timespec_get(&now, TIME_UTC);
    std::tm parts{};
    localtime_r(&now.tv_sec, &parts);
    char head[64];
    std::snprintf(head, sizeof head, "[%02d:%02d:%02d.%03ld][%ld][CUDA][E] ", parts.tm_hour,
                  parts.tm_min, parts.tm_sec, now.tv_nsec / 1000000, syscall(SYS_gettid));
    std::string line = head;
    for (std::size_t n = 0; n < text.size(); ++n) {
        if (text[n] != '\n') {
            line += text[n];
            continue;
        }
        while (n + 1 < text.size() && text[n + 1] == ' ') ++n;
        line += ": ";
    }
    return line;
}

std::vector<std::string>& pending_lines() {
    thread_local std::vector<std::string> lines;
    return lines;
}

thread_local unsigned inside = 0;  // number of callbacks that the thread is in

}  // namespace

thread_local bool Log::due = false;

Log& Log::get() {
    static Log* const log = new Log;
    return *log;
}

void Log::error(const std::string& text) {
    std::string line = log_line(text);
    std::lock_guard lock(mutex_);
    if (!listeners_.empty()) {
        pending_lines().push_back(line);
        due = true;
    }
    bytes_ += line.size() + 1;
    lines_.push_back(std::move(line));
    ++next_;
    while (bytes_ > room && lines_.size() > 1) {
        bytes_ -= lines_.front().size() + 1;
        lines_.pop_front();
    }
}

// Marks the thread as inside a callback, which may unwind.
class Log::Call {
  public:
    Call(Log& log, Listener& listener) : log_(log), listener_(listener) { ++inside; }
    ~Call() {
        --inside;
        std::lock_guard lock(log_.mutex_);
        --listener_.running;
        log_.left_.notify_all();
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

  private:
    Log& log_;
    Listener& listener_;
};

void Log::deliver_pending() {
    due = false;
    // Undelivered lines can still be read; the result of the driver's call does not change.
    result_of([this] {
        call_listeners();
        return CUDA_SUCCESS;
    });
}

void Log::call_listeners() {
    std::vector<std::string> lines = std::exchange(pending_lines(), {});
    std::vector<std::shared_ptr<Listener>> all;
    {
        std::lock_guard lock(mutex_);
        for (const auto& [handle, listener] : listeners_) all.push_back(listener);
    }
    for (std::string& line : lines)
        for (const auto& listener : all) {
            {
                std::lock_guard lock(mutex_);
                if (listeners_.count(listener.get()) == 0) continue;
                ++listener->running;
            }
            const Call call(*this, *listener);
            // After an exception of a callback, the other callbacks are called.
            result_of([&] {
                listener->call(listener->data, CU_LOG_LEVEL_ERROR, line.data(), line.size());
                return CUDA_SUCCESS;
            });
        }
}

CUlogsCallbackHandle Log::add(CUlogsCallback call, void* data) {
    auto listener = std::make_shared<Listener>(Listener{call, data});
    std::lock_guard lock(mutex_);
    auto* const handle = listener.get();
    listeners_.emplace(handle, std::move(listener));
    return reinterpret_cast<CUlogsCallbackHandle>(handle);
}

void Log::remove(CUlogsCallbackHandle handle) {
    std::unique_lock lock(mutex_);
    const auto it = listeners_.find(handle);
    require(it != listeners_.end());
    const std::shared_ptr<Listener> listener = it->second;
    listeners_.erase(it);
    if (inside == 0) left_.wait(lock, [&] { return listener->running == 0; });
}

std::uint32_t Log::next() const {
    std::lock_guard lock(mutex_);
    return next_;
}

std::string Log::lines(std::uint32_t* from, std::size_t most) const {
    std::lock_guard lock(mutex_);
    const std::size_t wanted = from ? next_ - *from : lines_.size();
    std::size_t first = lines_.size() - std::min(wanted, lines_.size()), bytes = 0;
    bool whole = wanted <= lines_.size();
    for (std::size_t n = first; n < lines_.size(); ++n) bytes += lines_[n].size() + 1;
    const bool any = bytes > 0;
    const auto total = [&] { return bytes + (whole ? 0 : sizeof left_out - 1); };
    while (first < lines_.size() && total() > most) {
        whole = false;
        bytes -= lines_[first++].size() + 1;
    }
    require(!any || first < lines_.size());
    if (from) *from = next_;
    std::string text = any && !whole ? left_out : "";
    for (; first < lines_.size(); ++first) text += lines_[first] + '\n';
    return text;
}

}  // namespace cupola::cpu
