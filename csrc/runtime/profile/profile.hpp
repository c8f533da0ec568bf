// csrc/runtime/profile/profile.hpp - records the times of calls and device work for profiles.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "cupola/profile.h"
#include "runtime/context/stream.hpp"

namespace cupola {

// One call, and the device work that it queued.
struct Record {
    int kind = 0;
    const char* name = "";       // interned or literal
    Context* context = nullptr;  // null: no device work
    std::uint64_t stream = 0, thread = 0, bytes = 0;
    cupola_dimensions dimensions{};
    std::int64_t call_begin = 0, call_end = 0;  // ns
    CUevent first = nullptr, last = nullptr;    // around the work; null when its times are known
    double begin = 0, end = 0;                  // ns, NaN where unknown
};

// Records a call for the span's lifetime, unless an exception ends it. Without a profile it costs
// one load.
class Span {
  public:
    // Measures work that is queued on the stream, whose context is current; null for host work.
    Span(int kind, const char* name, const Stream* stream, std::uint64_t bytes = 0,
         const cupola_dimensions* dimensions = nullptr) {
        if (__builtin_expect(active.load(std::memory_order_relaxed) != 0, 0))
            begin(kind, name, stream, bytes, dimensions);
    }
    ~Span() {
        if (__builtin_expect(record_ != nullptr, 0)) end();
    }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

    static std::atomic<int> active;  // the number of running profiles

  private:
    void begin(int kind, const char* name, const Stream* stream, std::uint64_t bytes,
               const cupola_dimensions* dimensions) noexcept;
    void end() noexcept;

    Record* record_ = nullptr;
    CUstream stream_ = nullptr;
    int exceptions_ = 0;
    bool ranged_ = false;
};

// Waits for the stream, and records the wait.
inline void synchronize(Stream& stream) {
    const Span span(CUPOLA_PROFILE_WAIT, "wait for the stream", nullptr);
    stream.synchronize();
}

class Profile : public Object {
  public:
    explicit Profile(bool ranges);
    ~Profile() override;
    void stop();

    std::vector<Record> records;
    std::int64_t started = 0;  // ns

  private:
    void leave() noexcept;  // the last one ends the recording

    std::uint64_t first_ = 0;
    bool ranges_, running_ = true;
};

inline Profile* unwrap(cupola_profile* p) { return reinterpret_cast<Profile*>(p); }
inline const Profile* unwrap(const cupola_profile* p) {
    return reinterpret_cast<const Profile*>(p);
}
inline cupola_profile* wrap(Profile* p) { return reinterpret_cast<cupola_profile*>(p); }

}  // namespace cupola
