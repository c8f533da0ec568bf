// csrc/runtime/context/flight.hpp - the launches of one stream that may not be done yet.
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

// "(1, 2, 3)", of grid or block.
template <class T>
std::string triple(const T (&d)[3]) {
    return "(" + std::to_string(d[0]) + ", " + std::to_string(d[1]) + ", " + std::to_string(d[2]) +
           ")";
}

// Tells whether another launch surely finds room in the driver's queue, and keeps the last
// launches, so that a fault can be traced to them. Costs a few stores a launch.
class Flight {
  public:
    Flight(Context& context, CUstream stream);
    ~Flight();
    Flight(const Flight&) = delete;
    Flight& operator=(const Flight&) = delete;

    // Where it says no, a launch may wait for the device: the queue may be full.
    bool has_room(int places = 1) {
        const int credit = credit_.load(std::memory_order_relaxed) - places;
        credit_.store(credit, std::memory_order_relaxed);
        return __builtin_expect(credit >= 0, 1) || look(credit, places);
    }

    // Stores alone: an instruction that locks would wait for what the launch has just written to
    // the device. Two threads at once on one stream may lose one of their entries.
    // `nulls()` is a lasting text on the arguments that are null; it is called where any launch may
    // have one.
    template <class Nulls>
    void add(const char* title, const cupola_dimensions& d, const Nulls& nulls) noexcept {
        const int now = watched.load(std::memory_order_relaxed);
        if (__builtin_expect(now, 0))
            add_watched(title, d, now & null ? nulls() : nullptr);
        else
            put(title, nullptr, d);
    }
    // The launch of a graph, which its title tells all of.
    void add(const char* title) noexcept {
        add(title, {}, [] { return nullptr; });
    }

    std::uint64_t head() const noexcept { return head_.load(std::memory_order_relaxed); }
    // Everything before this head is known to be done.
    void done(std::uint64_t head) noexcept;

    // Whether what is launched goes into a graph, not to the device.
    bool capturing() const;
    // While one of cupola's captures is under way, on any stream.
    static void watch_captures(bool begin) noexcept {
        watched.fetch_add(begin ? capture : -capture);
    }

    // Everything that was launched in the context is done.
    static void all_done(const Context& context) noexcept;
    // A line for each launch that was not waited for, "" where there is none.
    static std::string report();

    // A null pointer was given as an argument: from now on launches are looked at for them.
    static void watch_nulls() noexcept { watched.fetch_or(null); }

    // The line of the program that this thread's launches come from, where somebody keeps it.
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
        // In as few stores as there can be, and without a loop, which the compiler would keep.
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
    // Relaxed atomics: a reader of a fault may see a launch that is just being written.
    struct Entry {
        // The note is what is told beside: ", argument 1 (x) is null, launched at ...".
        std::atomic<const char*> title{nullptr}, note{nullptr};
        std::atomic<std::uint64_t> shape[3]{};  // grid and block, as cupola_dimensions has them
    };

    static thread_local const char* origin;  // a lasting text, ", launched at ..."
    // Bit 0: a thread has ever had one. Bit 1: an argument was ever null. The rest counts captures.
    static constexpr int traced = 1, null = 2, capture = 4;
    static std::atomic<int> watched;

    bool look(int credit, int places);
    bool look_at_mark();
    void list(std::string& lines) const;

    Context& context_;
    CUstream stream_;
    std::atomic<int> credit_;
    std::atomic<std::uint64_t> head_{0}, done_{0};
    Entry entries_[kept];
    std::mutex mutex_;  // of the mark
    CUevent mark_ = nullptr;
    std::uint64_t marked_ = 0;  // the head when the mark was recorded
};

}  // namespace cupola
