// csrc/runtime/profile/profile.hpp - times of what is queued, while somebody wants to know.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "cupola/profile.h"
#include "runtime/context/stream.hpp"

namespace cupola {

// One call, and the work on the device that it queued.
struct Record {
    int kind = 0;
    const char* name = "";       // lasting
    Context* context = nullptr;  // null: no work on a device
    std::uint64_t stream = 0, thread = 0, bytes = 0;
    cupola_dimensions dimensions{};
    std::int64_t call_begin = 0, call_end = 0;  // ns
    CUevent first = nullptr, last = nullptr;    // around the work; null once its times are known
    double begin = 0, end = 0;                  // ns, NaN where not known
};

// Records a call from its construction to its end, unless that is by an exception. Costs one look
// while there is no profile.
class Span {
  public:
    // Around what is queued on the stream, whose context is current; of the host where it is null.
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

    static std::atomic<int> active;  // how many profiles there are

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
