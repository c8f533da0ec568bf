// csrc/runtime/context/flight.hpp - the launches of one stream that may be unfinished.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>

#include "cupola/launch.h"

namespace cupola {

struct Context;
struct Driver;

// A grid or block as "(1, 2, 3)".
template <class T>
std::string triple(const T (&d)[3]) {
    return "(" + std::to_string(d[0]) + ", " + std::to_string(d[1]) + ", " + std::to_string(d[2]) +
           ")";
}

// Estimates whether the driver's queue has room for another launch. Also keeps the last launches,
// to report them after a fault. Costs a few stores per launch.
class Flight {
  public:
    Flight(Context& context, CUstream stream);
    ~Flight();
    Flight(const Flight&) = delete;
    Flight& operator=(const Flight&) = delete;

    // False where the queue may be full: a launch may then wait for the device.
    bool has_room(int places = 1) {
        const int credit = credit_.load(std::memory_order_relaxed) - places;
        credit_.store(credit, std::memory_order_relaxed);
        return __builtin_expect(credit >= 0, 1) || refill_credit(credit, places);
    }

    // Uses plain stores: a locked instruction would wait for the launch's own writes to the device.
    // Two threads that launch on one stream may therefore lose an entry. `nulls()` returns an
    // interned text about null arguments; it is called only after a null was ever passed.
    template <class Nulls>
    void add(const char* title, const cupola_dimensions& d, const Nulls& nulls) noexcept {
        const int now = watched.load(std::memory_order_relaxed);
        if (__builtin_expect(now, 0))
            add_watched(title, d, now & null ? nulls() : nullptr);
        else
            put(title, nullptr, d);
    }
    // Adds the launch of a graph, whose title describes the whole launch.
    void add(const char* title) noexcept {
        add(title, {}, [] { return nullptr; });
    }

    std::uint64_t head() const noexcept { return head_.load(std::memory_order_relaxed); }
    // Marks all launches before this position as done.
    void done(std::uint64_t head) noexcept;

    // Whether launches are captured into a graph instead of sent to the device.
    bool capturing() const;
    // Counts cupola's running captures, of any stream.
    static void watch_captures(bool begin) noexcept {
        watched.fetch_add(begin ? capture : -capture);
    }

    // Marks all launches in the context as done.
    static void all_done(const Context& context) noexcept;
    // One line for each launch of a driver that was not waited for; "" where all launches were
    // waited for.
    static std::string report(const Driver& driver);

    // A null pointer was passed as an argument: launches are checked for nulls from now on.
    static void watch_nulls() noexcept { watched.fetch_or(null); }

    // Sets the source line that this thread's launches are attributed to.
    static void set_origin(const char* line);
    static bool is_traced() noexcept { return watched.load(std::memory_order_relaxed) & traced; }

  private:
    [[gnu::cold]] void add_watched(const char* title, const cupola_dimensions& d,
                                   const char* nulls) noexcept;
    void put(const char* title, const char* note, const cupola_dimensions& d) noexcept {
        const std::uint64_t head = head_.load(std::memory_order_relaxed);
        head_.store(head + 1, std::memory_order_relaxed);
        Entry& e = entries_[head % kept];
        e.title.store(title, std::memory_order_relaxed);
        e.note.store(note, std::memory_order_relaxed);
        // Three stores; the compiler would not unroll a loop.
        e.shape[0].store(pair(d, 0), std::memory_order_relaxed);
        e.shape[1].store(pair(d, 1), std::memory_order_relaxed);
        e.shape[2].store(pair(d, 2), std::memory_order_relaxed);
    }
    static std::uint64_t pair(const cupola_dimensions& d, int index) noexcept {
        std::uint64_t two;
        std::memcpy(&two, reinterpret_cast<const char*>(&d) + index * sizeof two, sizeof two);
        return two;
    }

    static_assert(sizeof(cupola_dimensions) == 28, "grid and block are its first 24 bytes");
    static constexpr unsigned kept = 32;
    // Relaxed atomics: the fault report may read an entry while it is written.
    struct Entry {
        // `note` is further text: ", argument 1 (x) is null, launched at ...".
        std::atomic<const char*> title{nullptr}, note{nullptr};
        std::atomic<std::uint64_t> shape[3]{};  // grid and block, as cupola_dimensions has them
    };

    static thread_local const char* origin;  // interned: ", launched at ..."
    // Bit 0: an origin was ever set. Bit 1: an argument was ever null. Higher bits count captures.
    static constexpr int traced = 1, null = 2, capture = 4;
    static std::atomic<int> watched;

    bool refill_credit(int credit, int places);
    bool query_mark();
    void list(std::string& lines) const;

    Context& context_;
    CUstream stream_;
    std::atomic<int> credit_;
    std::atomic<std::uint64_t> head_{0}, done_{0};
    Entry entries_[kept];
    std::mutex mutex_;  // guards the mark
    CUevent mark_ = nullptr;
    std::uint64_t marked_ = 0;  // the head when the mark was recorded
};

}  // namespace cupola
